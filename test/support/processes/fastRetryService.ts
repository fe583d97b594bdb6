import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { LogOutput } from '../../../src/server/logOutput.ts';
import { startService, startupText } from '../../../src/server/service.ts';
import { fastRetrySchedule } from '../fastRetrySchedule.ts';

/** The service as `src/main.ts` starts it, but messages to webhooks are soon tried again. It runs until it is killed. */
const config = loadConfig(process.env);
const service = await startService(config, createLogger(config.logLevel, new LogOutput(1)), {
  webhookSchedule: fastRetrySchedule,
});
process.stderr.write(startupText(service));
