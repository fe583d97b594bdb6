import type { Position } from '../../domain/events/event.ts';
import { beginIfOther, type SameLogPorts } from './beginIfOther.ts';
import { isOutdated } from './outdated.ts';

/**
 * Resolves with the position after which to continue a read model: its checkpoint; or the beginning, with the read
 * model emptied, when its content does not belong to this log, or is outdated. Rejects with `unavailable`.
 */
export async function resumeAfter(model: string, ports: SameLogPorts): Promise<Position> {
  const { eventLog, readModels } = ports;
  await beginIfOther(model, ports);
  if ((await readModels.builtFrom(model)) === undefined || (await isOutdated(readModels, model))) {
    await readModels.begin(model, await eventLog.identity());
  }
  return readModels.checkpoint(model);
}
