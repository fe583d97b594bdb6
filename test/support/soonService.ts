import { LogOutput } from '../../src/app/LogOutput.ts';
import { startService } from '../../src/app/service.ts';
import { welcome } from '../../src/app/welcome.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { soon } from './soon.ts';

/** The service as `src/main.ts` starts it, but messages to webhooks are soon tried again. It runs until it is killed. */
const config = loadConfig(process.env);
const service = await startService(config, createLogger(config.logLevel, new LogOutput(1)), {
  webhookSchedule: soon,
});
process.stdout.write(welcome(service));
