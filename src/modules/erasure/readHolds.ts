import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { holdsStream } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import { evolveHolds, type HoldState, noHolds } from './holdState.ts';

/**
 * Returns all legal holds of a workspace, as of every change acknowledged before the call. Reads the log itself, from where
 * `known` ends; `known` is updated in place. With a position, only changes before it. Rejects with `unavailable`, and with
 * `unreadable`.
 */
export async function readHolds(
  eventLog: EventLog,
  workspace: string,
  { known = noHolds(), before = Number.POSITIVE_INFINITY }: { known?: HoldState; before?: Position } = {},
): Promise<HoldState> {
  const range = { state: known, isWanted: ({ position }: RecordedEvent) => position < before };
  return (await foldStream(eventLog, holdsStream(workspace), evolveHolds, range)) ?? known;
}
