import type { BillingFacts, Fault, Rule, Severity } from './rule.ts';
import { rules } from './rules/index.ts';

/** A fault with the rule that found it. */
export interface Finding extends Fault {
  rule: Rule;
}

/** What the rules find in the facts, also what ends by itself some day; in the order of the rules. */
export function findingsOf(facts: BillingFacts): Finding[] {
  return rules.flatMap((rule) => rule.check(facts).map((fault) => ({ ...fault, rule })));
}

/** Whether a finding stands at a moment, in milliseconds since 1970. */
export function standsAt({ until = Number.POSITIVE_INFINITY }: Finding, at: number): boolean {
  return at < until;
}

export const readinessStates = ['ready', 'blocked', 'not_completed'] as const;
export type ReadinessState = (typeof readinessStates)[number];

/** How an encounter stands by the findings that stand: what is not completed is not billed, whatever else is right. */
export function readinessState({ encounter }: BillingFacts, severities: readonly Severity[]): ReadinessState {
  if (encounter.fields.is_completed !== true) return 'not_completed';
  return severities.includes('blocks') ? 'blocked' : 'ready';
}
