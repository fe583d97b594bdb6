import type { BillingFacts, Fault, Rule, Severity } from './rule.ts';
import { choiceOf, type RuleSettings } from './ruleSettings.ts';
import { rules } from './rules/index.ts';

/** A fault with the rule that found it, and how much that counts in the workspace. */
export interface Finding extends Fault {
  rule: Rule;
  severity: Severity;
}

/** What the rules, or some of them, find in the facts, also what begins or ends by itself some day; in the order of the rules. */
export function findingsOf(
  facts: BillingFacts,
  settings: RuleSettings,
  applied: readonly Rule[] = rules,
): Finding[] {
  return applied.flatMap((rule) => {
    const severity = choiceOf(settings, rule);
    return severity === 'off'
      ? []
      : rule.check(facts, settings).map((fault) => ({ ...fault, rule, severity }));
  });
}

/** Whether a finding stands at a moment, in milliseconds since 1970. */
export function standsAt(
  { from = -Infinity, until = Infinity }: Pick<Fault, 'from' | 'until'>,
  at: number,
): boolean {
  return from <= at && at < until;
}

export const readinessStates = ['ready', 'blocked', 'not_completed'] as const;
export type ReadinessState = (typeof readinessStates)[number];

/** How an encounter stands by the findings that stand: what is not completed is not billed, whatever else is right. */
export function readinessState(
  { encounter }: BillingFacts,
  standing: readonly Pick<Finding, 'severity'>[],
): ReadinessState {
  if (encounter.fields.is_completed !== true) return 'not_completed';
  return standing.some(({ severity }) => severity === 'blocks') ? 'blocked' : 'ready';
}
