import { type ReadinessState, readinessStates } from './rules/findings.ts';
import type { Tally } from './tally.ts';

/** Counts as displayed. */
export interface ShownCounts {
  states: Record<ReadinessState, number>;
  /** By the codes of the rules. */
  rules: Record<string, number>;
}

/**
 * Returns a tally's counts for each state, of those with a finding of `rule` where one is given; and by rule, of
 * those in `state`.
 */
export function shownCounts(
  { states, rules }: Tally,
  { state, rule }: { state?: ReadinessState | undefined; rule?: string | undefined },
): ShownCounts {
  const sums: Record<string, number> = {};
  for (const one of state === undefined ? readinessStates : [state]) {
    for (const [code, count] of Object.entries(rules[one] ?? {})) sums[code] = (sums[code] ?? 0) + count;
  }
  const inState = (one: ReadinessState) => (rule === undefined ? states[one] : rules[one]?.[rule]) ?? 0;
  return {
    states: Object.fromEntries(readinessStates.map((one) => [one, inState(one)])) as ShownCounts['states'],
    rules: Object.fromEntries(Object.entries(sums).sort(([, a], [, b]) => b - a)),
  };
}
