import type { ReadinessCounted } from '../../domain/events/encounterReadiness.ts';
import { dataAs } from '../../domain/events/event.ts';
import { readinessCountsStream } from '../../domain/events/streamNames.ts';
import { upcast } from '../../domain/events/upcast.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Tally } from './tally.ts';

/**
 * Resolves with the counts of a workspace at the end of each of the last days, up to a number of them, in order.
 * Rejects with `unreadable` and `unavailable`.
 */
export async function readTrend(
  eventLog: EventLog,
  workspace: string,
  days: number,
): Promise<{ day: string; tally: Tally }[]> {
  const stream = readinessCountsStream(workspace);
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: days });
  return events.toReversed().map((event) => {
    const { day, ...tally } = dataAs<ReadinessCounted>(upcast(event).data);
    return { day, tally };
  });
}
