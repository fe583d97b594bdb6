import type { ReadinessRulesApplied } from '../../events/encounterReadiness.ts';
import { readinessStream } from '../../events/streamNames.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { readCounts } from '../counts/readCounts.ts';
import type { FanOut } from '../worklist/fanOut.ts';
import { announcement } from './announcement.ts';

/**
 * Appends one event on the effect of a change to the rule settings, once all encounters have been evaluated by them;
 * nothing for other changes. Rejects with `unavailable`.
 */
export async function announceRules(
  { eventLog, readModels }: QueryPorts,
  { workspace, trigger, before }: FanOut,
): Promise<void> {
  const { cause, requestId } = trigger;
  if (before === undefined || cause === undefined) return;
  const after = (await readCounts(readModels, workspace, {}))?.states ?? {};
  const data: ReadinessRulesApplied = { cause: cause.event_id, before, after };
  const parts = [workspace, cause.event_id];
  const event = announcement(workspace, parts, requestId, 'ReadinessRulesApplied', { ...data });
  await eventLog.append(readinessStream(workspace), event, 'any');
}
