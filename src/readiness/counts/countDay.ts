import type { ReadinessCounted } from '../../events/encounterReadiness.ts';
import { dataAs } from '../../events/event.ts';
import { readinessCountsStream } from '../../events/streamNames.ts';
import { upcast } from '../../events/upcast.ts';
import { appendBehind } from '../../ports/appendBehind.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { announcement } from '../announcing/announcement.ts';
import { readCounts } from './readCounts.ts';
import { totalOf } from './tally.ts';

/**
 * Appends for each workspace how many of its encounters are in each state at the end of a day: once, and nothing
 * where there are none. Rejects with `unavailable`.
 */
export async function countDay(
  { eventLog, readModels }: QueryPorts,
  workspaces: readonly string[],
  day: string,
): Promise<void> {
  for (const workspace of workspaces) {
    const tally = await readCounts(readModels, workspace, {});
    if (tally === undefined || totalOf(tally) === 0) continue;
    const stream = readinessCountsStream(workspace);
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    if (last && dataAs<ReadinessCounted>(upcast(last).data).day >= day) continue;
    const data: ReadinessCounted = { day, ...tally };
    const event = announcement(workspace, [stream, day], undefined, 'ReadinessCounted', { ...data });
    // Where somebody else has counted it meanwhile, it is counted.
    await appendBehind(eventLog, stream, event, last?.revision ?? -1);
  }
}
