import type { EventLog } from '../../storage/eventLog.ts';
import type { Referrer } from './findReferrers.ts';
import { type Holding, holdsOver } from './holdsOver.ts';
import { patientsOver } from './patientsOver.ts';
import { readHolds } from './readHolds.ts';

/**
 * Returns the legal holds that block the erasure of a record; undefined when there are none. As of every hold acknowledged before
 * the call. `referrers` finds what refers to the record; it is not called when nothing is held. Rejects as `referrers` does, with
 * `unreadable` and `unavailable`.
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
