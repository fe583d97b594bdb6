import type { Position } from '../events/event.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { type LogMismatch, logMismatch } from './logMismatch.ts';

export interface ResumePorts {
  eventLog: EventLog;
  readModels: ReadModels;
  /** Told of a read model that is begun anew because it is not of this log. */
  onMismatch(model: string, mismatch: LogMismatch): void;
}

/**
 * The position after which to go on with a read model: its checkpoint; or the beginning, with the read model emptied,
 * when what it holds is not of this log. Rejects with `unavailable`.
 */
export async function resumeAfter(model: string, ports: ResumePorts): Promise<Position> {
  const { eventLog, readModels, onMismatch } = ports;
  const mismatch = await logMismatch(ports, model);
  if (mismatch) onMismatch(model, mismatch);
  if (mismatch || (await readModels.builtFrom(model)) === undefined) {
    await readModels.begin(model, await eventLog.identity());
  }
  return readModels.checkpoint(model);
}
