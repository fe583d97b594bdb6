import type { Position } from '../../domain/events/event.ts';
import { validationError } from '../../domain/records/schema/validate.ts';
import { unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { requirePosition } from '../eventStream/position.ts';
import { startAt } from '../eventStream/startAt.ts';
import type { Start } from './webhookSettings.ts';

/** Longest search for the first event of a moment; an hour of the log is read in a fraction of it. */
const TIMEOUT_MS = 20_000;

export interface StartPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/**
 * Resolves with the position after which to begin. Rejects with `validation_failed`, naming `field`, when that is not
 * a position of the log or lies in the future, and with `unavailable`.
 */
export async function startPosition(
  ports: StartPorts,
  workspace: string,
  start: Start,
  field: string,
): Promise<Position> {
  if ('from' in start) {
    if (start.from > Date.now()) throw validationError([{ field, message: 'must not be in the future' }]);
    return positionBefore(ports, workspace, start.from);
  }
  if (start.after === 'head') return ports.eventLog.head();
  await requirePosition(ports.eventLog, start.after, field);
  return start.after;
}

/**
 * Resolves with the place just before a workspace's first event recorded at `time` or later; with the log's end when
 * there is none.
 */
async function positionBefore(
  { eventLog, readModels }: StartPorts,
  workspace: string,
  time: number,
): Promise<Position> {
  let before = await startAt(readModels, time);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const filter = { streamPrefixes: [`${workspace}.`] };
  for await (const { events, position, caughtUp } of eventLog.follow({ after: before, filter, signal })) {
    for (const event of events) {
      if (Date.parse(event.recordedAt) >= time) return before;
      before = event.position;
    }
    before = position;
    if (caughtUp) return before;
  }
  throw unavailable('event log');
}
