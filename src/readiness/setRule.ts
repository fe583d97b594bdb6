import { ServiceError } from '../errors.ts';
import type { Caller } from '../events/newEvent.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { changeRuleSettings } from './changeRuleSettings.ts';
import { choicesFor, type ReadinessRuleSet, type RuleChoice } from './ruleSettings.ts';
import { rules } from './rules/index.ts';

/**
 * Sets what becomes of a rule in the caller's workspace; no change when it is so already. Rejects with `not_found` when there is
 * no such rule, with `validation_failed` for a choice that it does not have, with `unreadable` and `unavailable`.
 */
export async function setRule(
  eventLog: EventLog,
  caller: Caller,
  code: string,
  choice: RuleChoice | 'default',
): Promise<void> {
  const rule = rules.find((one) => one.code === code);
  if (rule === undefined) {
    throw new ServiceError(
      'not_found',
      `There is no rule ${code}. \`chartledger readiness rules\` lists all.`,
    );
  }
  const choices = [...choicesFor(rule), 'default'];
  if (!choices.includes(choice)) {
    throw new ServiceError(
      'validation_failed',
      `Rule ${code} cannot be set to ${choice}, as the worklist does not have what it finds: only to ${choices.join(', ')}.`,
    );
  }
  const data: ReadinessRuleSet = { rule: code, choice };
  await changeRuleSettings(eventLog, caller, ({ choices }) =>
    (choices.get(code) ?? 'default') === choice ? undefined : { type: 'ReadinessRuleSet', data: { ...data } },
  );
}
