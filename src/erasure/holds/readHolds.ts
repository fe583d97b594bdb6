import type { Position, RecordedEvent } from '../../events/event.ts';
import { holdsStream } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { foldStream } from '../../reads/foldStream.ts';
import { evolveHolds, type HoldState, noHolds } from './holdState.ts';

/**
 * All legal holds of a workspace, as of every change acknowledged before the call: the log itself is read, from where `known`
 * ends on, which is brought up to date in place; of changes before a position alone where one is given. Rejects with `unavailable`, and
 * with `unreadable`.
 */
export async function readHolds(
  eventLog: EventLog,
  workspace: string,
  { known = noHolds(), before = Number.POSITIVE_INFINITY }: { known?: HoldState; before?: Position } = {},
): Promise<HoldState> {
  const range = { state: known, isWanted: ({ position }: RecordedEvent) => position < before };
  return (await foldStream(eventLog, holdsStream(workspace), evolveHolds, range)) ?? known;
}
