import { notFound, ServiceError } from '../../errors.ts';
import type { RecordedEvent } from '../../events/event.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { type Evolve, foldStream } from '../foldStream.ts';

/**
 * Which version is meant: the one of a number, or the last one that stood at an instant (ms since 1970 UTC). The time that
 * counts for a version is the latest one up to there in the stream: with an event that is too late the fold ends, also
 * where one behind it claims to be earlier.
 */
export type Moment = { version: number } | { asOf: number };

/**
 * A stream's state at a moment, by the log alone. Rejects with `not_found` when there was none: the stream does not
 * exist, it has no such version, or the instant lies before its first event; with `unreadable` as `foldStream` does.
 */
export async function stateAt<State extends { version: number }>(
  eventLog: EventLog,
  stream: string,
  title: string,
  evolve: Evolve<State>,
  moment: Moment,
): Promise<State> {
  const noun = title.toLowerCase();
  if ('asOf' in moment) {
    const isWanted = ({ recordedAt }: RecordedEvent) => Date.parse(recordedAt) <= moment.asOf;
    const state = await foldStream(eventLog, stream, evolve, { isWanted });
    if (state === undefined) throw new ServiceError('not_found', `There was no such ${noun} at that time.`);
    return state;
  }
  const { version } = moment;
  const state = await foldStream(eventLog, stream, evolve, { version });
  if (state === undefined) throw notFound(title);
  if (state.version < version) throw new ServiceError('not_found', `The ${noun} has no version ${version}.`);
  return state;
}
