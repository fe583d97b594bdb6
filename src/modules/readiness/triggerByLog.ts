import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { BillingHistory, type Step } from './BillingHistory.ts';
import { ReadinessReplay } from './ReadinessReplay.ts';
import type { Trigger } from './trigger.ts';
import { codesOf, finds, type WorklistEntry, worklistEntry } from './worklistEntry.ts';

/** The effect of a change to these is announced for all encounters together. */
const settingKinds = ['workspace', 'code_set'];

/**
 * Resolves with the write after which an encounter was as an entry says, from the log alone; undefined where no write
 * did this, or it cannot be read. Rejects with `unavailable`.
 */
export async function triggerByLog(
  ports: QueryPorts,
  workspace: string,
  entry: WorklistEntry,
): Promise<Trigger | undefined> {
  const id = entry.encounter_id;
  const history = new BillingHistory(ports, workspace, Number.POSITIVE_INFINITY);
  // The entry reflects what the read models have.
  const steps = await history.steps(id, { isPresent: false }).catch(asUnreadable);
  if (steps instanceof UnreadableError) return undefined;
  const replay = new ReadinessReplay(id);
  const now = Date.now();
  let found: Step | undefined;
  let wasSo = false;
  for (const step of steps) {
    replay.take(step);
    const { facts, findings } = replay;
    const then = facts && worklistEntry({ facts, findings }, now);
    const isSo = then?.state === entry.state && finds(then, codesOf(entry));
    if (isSo && !wasSo) found = step;
    wasSo = isSo;
  }
  if (found === undefined || settingKinds.includes(found.kind)) return undefined;
  const { event, kind, version } = found;
  const cause = { event_id: event.id, kind, id: found.id, version };
  return { cause, position: event.position, requestId: event.metadata.requestId };
}
