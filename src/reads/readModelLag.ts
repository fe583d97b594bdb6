import type { Position } from '../events/event.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { type ProjectionStatus, projectionStatus } from './projectionStatus.ts';

/** How a read model stands to the log, and since when. */
export interface ReadModelLag extends ProjectionStatus {
  /** Age of the oldest event that it does not hold yet, in seconds; 0 when it holds all; undefined where that cannot be read. */
  seconds: number | undefined;
}

/** For so long is the log asked for an event. */
const ASK_MS = 1_000;

/** Every read model's status, with its lag by a clock (milliseconds since 1970). Rejects with `unavailable` when a store is away. */
export async function readModelLag(
  eventLog: EventLog,
  readModels: ReadModels,
  now: number,
): Promise<ReadModelLag[]> {
  const statuses = await projectionStatus(eventLog, readModels);
  // Most read models are where the others are.
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

/** When the first event after a position was recorded; `now` when there is none, undefined when that cannot be read. */
async function firstAfter(eventLog: EventLog, after: Position, now: number): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ASK_MS);
  for await (const { events, caughtUp } of eventLog.follow({ after, signal })) {
    const [first] = events;
    if (first) return Date.parse(first.recordedAt);
    if (caughtUp) return now;
  }
  return undefined;
}
