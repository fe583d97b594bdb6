import { loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { LogOutput } from '../../src/server/LogOutput.ts';
import { startService } from '../../src/server/service.ts';
import { welcome } from '../../src/server/welcome.ts';
import { soon } from './soon.ts';

/** The service as `src/main.ts` starts it, but messages to webhooks are soon tried again. It runs until it is killed. */
const config = loadConfig(process.env);
const service = await startService(config, createLogger(config.logLevel, new LogOutput(1)), {
  webhookSchedule: soon,
});
process.stdout.write(welcome(service));
