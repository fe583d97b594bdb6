import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { type LogMismatch, logMismatch } from './logMismatch.ts';

export interface SameLogPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  /** Told of a read model that is begun anew because it is not of this log. */
  onMismatch(model: string, mismatch: LogMismatch): void;
}

/** Empties a read model, to be built from this log, when what it holds is not of it. Rejects with `unavailable`. */
export async function beginIfOther(model: string, ports: SameLogPorts): Promise<void> {
  const { eventLog, readModels, onMismatch } = ports;
  const mismatch = await logMismatch(ports, model);
  if (mismatch === undefined) return;
  onMismatch(model, mismatch);
  await readModels.begin(model, await eventLog.identity());
}
