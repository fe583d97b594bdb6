import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { changeRuleSettings } from './changeRuleSettings.ts';
import { rules } from './rules/index.ts';
import type { ReadinessRuleSet, RuleChoice } from './rules/ruleSettings.ts';

/**
 * Sets the choice for a rule in the caller's workspace; appends nothing when it is so already. Rejects with
 * `not_found` when there is no such rule, with `unreadable` and `unavailable`.
 */
export async function setRule(
  eventLog: EventLog,
  caller: Caller,
  code: string,
  choice: RuleChoice | 'default',
): Promise<void> {
  if (rules.every((one) => one.code !== code)) {
    throw new ServiceError(
      'not_found',
      `Rule ${code} does not exist. \`chartledger readiness rules\` lists all rules.`,
    );
  }
  const data: ReadinessRuleSet = { rule: code, choice };
  await changeRuleSettings(eventLog, caller, ({ choices }) =>
    (choices.get(code) ?? 'default') === choice ? undefined : { type: 'ReadinessRuleSet', data: { ...data } },
  );
}
