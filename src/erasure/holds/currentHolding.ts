import type { EventLog } from '../../ports/eventLog.ts';
import type { Referrer } from '../findReferrers.ts';
import { type Holding, holdsOver } from './holdsOver.ts';
import { patientsOver } from './patientsOver.ts';
import { readHolds } from './readHolds.ts';

/**
 * The legal holds that stand in the way of erasing a record; undefined where none does. As of every hold acknowledged before the call.
 * `referrers` finds what refers to it; it is not asked where nothing is held. Rejects as that does, with `unreadable` and `unavailable`.
 */
export async function currentHolding(
  eventLog: EventLog,
  workspace: string,
  record: { kind: string; id: string },
  referrers: () => Promise<readonly Referrer[]>,
): Promise<Holding | undefined> {
  const holds = await readHolds(eventLog, workspace);
  if (holds.inForce.size === 0) return undefined;
  const patientIds = await patientsOver(eventLog, workspace, record);
  return holdsOver(holds, { ...record, patientIds, referrers: await referrers() });
}
