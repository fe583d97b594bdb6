import type { ReadinessCounted } from '../../domain/events/encounterReadiness.ts';
import { dataAs } from '../../domain/events/event.ts';
import { readinessCountsStream } from '../../domain/events/streamNames.ts';
import { upcast } from '../../domain/events/upcast.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { appendBehind } from '../../storage/appendBehind.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { announcement } from './announcement.ts';
import { readCounts } from './readCounts.ts';
import { readProgress } from './readWorklist.ts';
import { totalOf } from './tally.ts';

/** How long the worklist of a workspace may take to be current, before the next one is counted. */
const WAIT_MS = 200;

/**
 * Appends for each workspace how many of its encounters are in each state at the end of a day: once, and nothing
 * where there are none. Resolves with false when a worklist is not current, which would be counted half evaluated:
 * that workspace remains to be counted. Rejects with `unavailable`.
 */
export async function countDay(
  ports: QueryPorts,
  workspaces: readonly string[],
  day: string,
): Promise<boolean> {
  const { eventLog, readModels } = ports;
  let isCounted = true;
  for (const workspace of workspaces) {
    if (!(await isCurrent(ports, workspace))) {
      isCounted = false;
      continue;
    }
    const tally = await readCounts(readModels, workspace, {});
    if (tally === undefined || totalOf(tally) === 0) continue;
    const stream = readinessCountsStream(workspace);
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    if (last && dataAs<ReadinessCounted>(upcast(last).data).day >= day) continue;
    const data: ReadinessCounted = { day, ...tally };
    const event = announcement(workspace, [stream, day], undefined, 'ReadinessCounted', { ...data });
    // A conflict means that another process has counted it.
    await appendBehind(eventLog, stream, event, last?.revision ?? -1);
  }
  return isCounted;
}

async function isCurrent(ports: QueryPorts, workspace: string): Promise<boolean> {
  try {
    return (await readProgress(ports, workspace, WAIT_MS)).isCurrent;
  } catch (error) {
    // Without rule settings that can be read, its worklist is not evaluated.
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}
