import type { Position } from '../../../domain/events/event.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { type ProjectionStatus, projectionStatus } from './projectionStatus.ts';

/** A read model's progress through the log, and how long it has been behind. */
export interface ReadModelLag extends ProjectionStatus {
  /**
   * Age in seconds of the oldest event that it does not hold yet; 0 when it holds all; undefined where that cannot be
   * read.
   */
  seconds: number | undefined;
}

/** How long the log is asked for an event. */
const ASK_MS = 1_000;

/**
 * Resolves with every read model's status, with its lag by a clock (milliseconds since 1970). Rejects with
 * `unavailable` when a store cannot be reached.
 */
export async function readModelLag(
  eventLog: EventLog,
  readModels: ReadModels,
  now: number,
): Promise<ReadModelLag[]> {
  const statuses = await projectionStatus(eventLog, readModels);
  // Most read models are at the same position.
  const oldest = new Map<Position, Promise<number | undefined>>();
  for (const { position, behind } of statuses) {
    if (behind > 0 && !oldest.has(position)) oldest.set(position, firstAfter(eventLog, position, now));
  }
  return Promise.all(
    statuses.map(async (status) => {
      const at = status.behind > 0 ? await oldest.get(status.position) : now;
      return { ...status, seconds: at === undefined ? undefined : Math.max(0, (now - at) / 1_000) };
    }),
  );
}

/**
 * Resolves with the time at which the first event after a position was recorded; `now` when there is none, undefined
 * when that cannot be read.
 */
async function firstAfter(eventLog: EventLog, after: Position, now: number): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ASK_MS);
  for await (const { events, caughtUp } of eventLog.follow({ after, signal })) {
    const [first] = events;
    if (first) return Date.parse(first.recordedAt);
    if (caughtUp) return now;
  }
  return undefined;
}
