import { DatabaseSync } from 'node:sqlite';
import type { TestService } from './service.ts';

/** How long a statement waits for the service, which writes beside it. */
const BUSY_MS = 10_000;

/** The file of a service's embedded event log, for what the service would never do to it. */
export function openLogFile({ config }: TestService): DatabaseSync {
  return new DatabaseSync(config.eventLogUrl.slice('sqlite:'.length), { timeout: BUSY_MS });
}
