import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { stopSignal } from '../../server/stopSignal.ts';
import { example } from '../lib/terminal.ts';

/** `chartledger serve` */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Run the service. Its settings are environment variables.')
    .addHelpText('after', example('chartledger serve'))
    .action(async () => {
      const stopping = stopSignal(process.env);
      // As set by `npm start`; the last one takes effect for threads.
      setFlagsFromString('--heap-growing-percent=40');
      setFlagsFromString('--no-allocation-site-pretenuring');
      setFlagsFromString('--max-semi-space-size=16');
      const { serve } = await import('../../server/service.ts');
      process.exit(await serve(process.env, stopping));
    });
}
