import { stopSignal } from './server/stopSignal.ts';

// The service is loaded afterwards, which takes a while: a signal counts from the first moment.
const stopping = stopSignal(process.env);
const { serve } = await import('./server/service.ts');
process.exit(await serve(process.env, stopping));
