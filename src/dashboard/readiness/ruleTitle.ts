import { rules } from '../../readiness/rules/index.ts';

/** What a rule demands; of one that this version does not know, its code. */
export function ruleTitle(code: string): string {
  return rules.find((rule) => rule.code === code)?.title ?? code;
}
