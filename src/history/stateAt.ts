import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import type { EventLog, RecordedEvent } from '../ports/eventLog.ts';

/**
 * Events read at once. A stream may have many thousands of versions of up to 1 MiB: it is folded a chunk at a time, so
 * that only one chunk and the state are held, and requests are served between two chunks.
 */
const CHUNK = 500;

/**
 * Which version is meant: the one of a number, or the last one that stood at an instant (ms since 1970 UTC). The time that
 * counts for a version is the latest one up to there in the stream: with an event that is too late the fold ends, also
 * where one behind it claims to be earlier.
 */
export type Moment = { version: number } | { asOf: number };

/** How the next event changes a state. */
export type Evolve<State> = (state: State | undefined, event: RecordedEvent) => State;

/** The fold of a stream's first events, up to the first one that is not wanted; undefined when there is none. */
async function foldStream<State>(
  eventLog: EventLog,
  stream: string,
  evolve: Evolve<State>,
  isWanted: (event: RecordedEvent) => boolean,
): Promise<State | undefined> {
  let state: State | undefined;
  for (let from = 0; ; from += CHUNK) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) {
      if (!isWanted(event)) return state;
      state = evolve(state, event);
    }
    if (events.length < CHUNK) return state;
    await nextTurn();
  }
}

/**
 * A stream's state at a moment, by the log alone. Rejects with `not_found` when there was none: the stream does not
 * exist, it has no such version, or the instant lies before its first event.
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
    const state = await foldStream(eventLog, stream, evolve, isWanted);
    if (state === undefined) throw new ServiceError('not_found', `There was no such ${noun} at that time.`);
    return state;
  }
  const { version } = moment;
  const state = await foldStream(eventLog, stream, evolve, ({ revision }) => revision < version);
  if (state === undefined) throw new ServiceError('not_found', `${title} not found.`);
  if (state.version < version) throw new ServiceError('not_found', `The ${noun} has no version ${version}.`);
  return state;
}
