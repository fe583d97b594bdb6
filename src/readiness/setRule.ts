import { ServiceError } from '../errors.ts';
import { type Caller, newActorEvent } from '../events/newEvent.ts';
import { readinessStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { type ReadinessRuleSet, type RuleChoice, readRuleSettings } from './ruleSettings.ts';
import { rules } from './rules/index.ts';

/**
 * Sets what becomes of a rule in the caller's workspace; no change when it is so already. Rejects with `not_found` when there is
 * no such rule, with `unreadable` and `unavailable`.
 */
export async function setRule(
  eventLog: EventLog,
  caller: Caller,
  code: string,
  choice: RuleChoice | 'default',
): Promise<void> {
  const { workspace } = caller;
  if (!rules.some((rule) => rule.code === code)) {
    throw new ServiceError(
      'not_found',
      `There is no rule ${code}. \`chartledger readiness rules\` lists all.`,
    );
  }
  for (;;) {
    const { version, choices } = await readRuleSettings(eventLog, workspace);
    if ((choices.get(code) ?? 'default') === choice) return;
    const data: ReadinessRuleSet = { rule: code, choice };
    const event = newActorEvent(caller, workspace, 'ReadinessRuleSet', { ...data });
    try {
      await eventLog.append(readinessStream(workspace), event, version === 0 ? 'none' : version - 1);
      return;
    } catch (error) {
      // Another rule was set meanwhile: decide again.
      if (!(error instanceof ServiceError && error.code === 'version_conflict')) throw error;
    }
  }
}
