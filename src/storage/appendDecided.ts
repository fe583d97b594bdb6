import type { NewEvent } from '../domain/events/event.ts';
import { appendBehind } from './appendBehind.ts';
import type { EventLog } from './eventLog.ts';

/** The result of folding the first `version` events of a stream. */
interface Folded {
  version: number;
}

/**
 * Appends the event that `decide` derives from the stream's fold, as returned by `read`, and returns that fold. Decides again
 * when another event was appended in the meantime; appends nothing when `decide` returns undefined. Rejects with what `read` and
 * `decide` throw, and as `EventLog.append` does.
 */
export async function appendDecided<State extends Folded>(
  eventLog: Pick<EventLog, 'append'>,
  stream: string,
  read: () => Promise<State>,
  decide: (state: State) => NewEvent | undefined,
): Promise<State> {
  for (;;) {
    const state = await read();
    const event = decide(state);
    if (event === undefined) return state;
    if (await appendBehind(eventLog, stream, event, state.version - 1)) return state;
  }
}
