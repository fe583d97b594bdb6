import { makeFilesPrivate } from './backends/localFiles/privateFiles.ts';
import { ConfigError, loadConfig } from './config.ts';
import { describeError } from './errors.ts';
import { createLogger } from './logger.ts';
import { type Service, startService } from './service.ts';
import { welcome } from './welcome.ts';

async function run(): Promise<void> {
  makeFilesPrivate();
  const config = loadConfig(process.env);
  const logger = createLogger(config.logLevel);
  const service = await startService(config, logger);
  process.stdout.write(welcome(service));
  stopOnSignal(service);
}

function stopOnSignal(service: Service): void {
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await service.stop();
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

run().catch((error: unknown) => {
  const reason = error instanceof ConfigError ? error.message : startFailure(error);
  process.stderr.write(`Chartledger did not start. ${reason}\n`);
  process.exit(1);
});

function startFailure(error: unknown): string {
  const { code, message, problem } = error as { code?: string; message?: string; problem?: string };
  if (problem !== undefined) return problem;
  if (code === 'EADDRINUSE') return 'The port is in use; set PORT to another one.';
  return `${message ?? 'Unknown reason'} ${JSON.stringify(describeError(error))}`;
}
