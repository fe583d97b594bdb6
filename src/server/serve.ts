import { once } from 'node:events';
import { loadConfig } from '../platform/config.ts';
import { createLogger } from '../platform/logger.ts';
import { misspeltSettings } from '../platform/misspeltSettings.ts';
import { makeFilesPrivate } from './keepFilesPrivate.ts';
import { LogOutput } from './LogOutput.ts';
import { startService } from './service.ts';
import { startFailure } from './startFailure.ts';
import { welcome } from './welcome.ts';

const STDOUT = 1;

/**
 * Runs the service until `stopping`; resolves with the exit code. The reason for a failed start is written to standard error in
 * one line.
 */
export async function serve(env: Record<string, string | undefined>, stopping: AbortSignal): Promise<number> {
  // Accessing them makes a pipe non-blocking. A blocking write would hold up a thread, and the end of the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  makeFilesPrivate();
  const output = new LogOutput(STDOUT);
  try {
    const config = loadConfig(env);
    const logger = createLogger(config.logLevel, output);
    for (const { name, meant } of misspeltSettings(env)) {
      logger.warn({ name, meant }, `${name} is not a setting; did you mean ${meant}?`);
    }
    const service = await startService(config, logger, { stopping });
    output.write(welcome(service));
    if (!stopping.aborted) await once(stopping, 'abort');
    await service.stop();
    return 0;
  } catch (error) {
    if (stopping.aborted) return 0;
    process.stderr.write(`Chartledger did not start. ${startFailure(error, env.LOG_LEVEL)}\n`);
    return 1;
  } finally {
    await output.close();
  }
}
