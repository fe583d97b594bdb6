import { rules } from '../../modules/readiness/rules/index.ts';

/** Returns what a rule demands; for a rule that this version does not know, its code. */
export function ruleTitle(code: string): string {
  return rules.find((rule) => rule.code === code)?.title ?? code;
}
