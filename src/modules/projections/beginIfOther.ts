import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { type LogMismatch, logMismatch } from './logMismatch.ts';

export interface SameLogPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  /** Called with a read model that is rebuilt from the start because it does not belong to this log. */
  onMismatch(model: string, mismatch: LogMismatch): void;
}

/**
 * Empties a read model, to be built from this log, when its content does not belong to it. Rejects with
 * `unavailable`.
 */
export async function beginIfOther(model: string, ports: SameLogPorts): Promise<void> {
  const { eventLog, readModels, onMismatch } = ports;
  const mismatch = await logMismatch(ports, model);
  if (mismatch === undefined) return;
  onMismatch(model, mismatch);
  await readModels.begin(model, await eventLog.identity());
}
