import type { NewEvent } from '../events/event.ts';
import { appendBehind } from './appendBehind.ts';
import type { EventLog } from './eventLog.ts';

/** What the first `version` events of a stream were folded into. */
interface Folded {
  version: number;
}

/**
 * Appends the event that `decide` makes of a stream as `read` folds it, and gives that fold. Where another event was appended
 * meanwhile it is decided again; where `decide` gives none, nothing is appended. Rejects with what `read` and `decide` throw, and as
 * `EventLog.append` does.
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
