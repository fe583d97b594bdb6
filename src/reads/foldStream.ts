import { setImmediate as nextTurn } from 'node:timers/promises';
import { asUnreadable, UnreadableError } from '../errors.ts';
import type { RecordedEvent } from '../events/event.ts';
import type { EventLog } from '../ports/eventLog.ts';

/**
 * Events read at once. A stream may have many thousands of versions of up to 1 MiB: it is folded a chunk at a time, so
 * that only one chunk and the state are held, and requests are served between two chunks.
 */
const CHUNK = 500;

/** How the next event changes a state; throws an `UnreadableError` for one that cannot be folded. */
export type Evolve<State> = (state: State | undefined, event: RecordedEvent) => State;

/** From where and up to where a stream is folded. */
export interface FoldRange<State> {
  /** The state to begin with; default: before the first event. */
  state?: State | undefined;
  /** The version with which to end. */
  version?: number;
  /** The fold ends before the first event that is not wanted. */
  isWanted?: (event: RecordedEvent) => boolean;
}

/**
 * The fold of a stream's events, of all unless the range says otherwise; undefined when there is none. Rejects with
 * `unreadable` when it would lead past an event that cannot be read, and with `unavailable`.
 */
export async function foldStream<State extends { version: number }>(
  eventLog: EventLog,
  stream: string,
  evolve: Evolve<State>,
  { state: before, version = Number.POSITIVE_INFINITY, isWanted = () => true }: FoldRange<State> = {},
): Promise<State | undefined> {
  let state = before;
  for (let chunk = CHUNK; ; ) {
    const from = state?.version ?? 0;
    if (from >= version) return state;
    const limit = Math.min(chunk, version - from);
    const events = await eventLog.readStream(stream, { from, limit }).catch(asUnreadable);
    if (events instanceof UnreadableError) {
      // What comes before the event that cannot be read may be all that is wanted.
      if (limit === 1) throw events;
      chunk = Math.floor(limit / 2);
      continue;
    }
    for (const event of events) {
      // Where the versions before it were erased, a stream begins with another one.
      if (event.revision >= version || !isWanted(event)) return state;
      state = evolve(state, event);
    }
    if (events.length < limit) return state;
    await nextTurn();
  }
}
