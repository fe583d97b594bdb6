import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedEvent } from '../../../domain/events/event.ts';
import { asUnreadable, UnreadableError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';

/**
 * Events read at once. A stream may have many thousands of versions of up to 1 MiB: it is folded a chunk at a time,
 * so that only one chunk and the state are held, and requests are served between chunks.
 */
const CHUNK = 500;

/** Returns the state after the next event; throws an `UnreadableError` for one that cannot be folded. */
export type Evolve<State> = (state: State | undefined, event: RecordedEvent) => State;

/** The range of a stream to fold. */
export interface FoldRange<State> {
  /** The state to begin with; default: that before the first event. */
  state?: State | undefined;
  /** The last version to fold. */
  version?: number;
  /** The fold ends before the first event for which this is false. */
  isWanted?: (event: RecordedEvent) => boolean;
}

/**
 * Resolves with the fold of a stream's events, of all unless the range says otherwise; undefined when there is none.
 * Rejects with `unreadable` when it would lead past an event that cannot be read, and with `unavailable`.
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
      // The events before the unreadable one may be all that is wanted.
      if (limit === 1) throw events;
      chunk = Math.floor(limit / 2);
      continue;
    }
    for (const event of events) {
      // Where earlier versions were erased, a stream begins at a later one.
      if (event.revision >= version || !isWanted(event)) return state;
      state = evolve(state, event);
    }
    if (events.length < limit) return state;
    await nextTurn();
  }
}
