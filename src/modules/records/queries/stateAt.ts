import { erasureStep } from '../../../domain/events/recordErased.ts';
import { gone, notFound, ServiceError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { type Evolve, type FoldRange, foldStream } from './foldStream.ts';

/**
 * Which version is meant: the one with a number, or the last one in force at an instant (ms since 1970 UTC). The time
 * that counts for a version is the latest one up to that point in the stream: the fold ends at the first event that
 * is too late, even if a later event claims to be earlier.
 */
export type Moment = { version: number } | { asOf: number };

/**
 * Resolves with a stream's state at a moment, from the log alone. Rejects with `not_found` when there was none: the
 * stream does not exist, it has no such version, or the instant lies before its first event; with `gone` when it was
 * erased then or since; with `unreadable` as `foldStream` does.
 */
export async function stateAt<State extends { version: number; updatedAt: string; erased?: true }>(
  eventLog: EventLog,
  stream: string,
  title: string,
  evolve: Evolve<State>,
  moment: Moment,
): Promise<State> {
  const noun = title.toLowerCase();
  const state = await foldStream(eventLog, stream, evolve, rangeOf(moment));
  if (state?.erased) throw gone(title, state.updatedAt);
  const isThere = state !== undefined && !('version' in moment && state.version < moment.version);
  if (isThere) return state;
  const [first] = await eventLog.readStream(stream, { limit: 1 });
  if (first && erasureStep(first)) throw gone(title, first.recordedAt);
  if ('asOf' in moment) throw new ServiceError('not_found', `The ${noun} did not exist at that time.`);
  if (first === undefined) throw notFound(title);
  throw new ServiceError('not_found', `The ${noun} has no version ${moment.version}.`);
}

function rangeOf<State>(moment: Moment): FoldRange<State> {
  if ('version' in moment) return moment;
  return { isWanted: ({ recordedAt }) => Date.parse(recordedAt) <= moment.asOf };
}
