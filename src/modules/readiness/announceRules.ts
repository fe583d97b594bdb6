import type { ReadinessRulesApplied } from '../../domain/events/encounterReadiness.ts';
import { readinessStream } from '../../domain/events/streamNames.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { announcement } from './announcement.ts';
import type { FanOut } from './fanOut.ts';
import { readCounts } from './readCounts.ts';

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
