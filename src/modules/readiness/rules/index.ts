import { createHash } from 'node:crypto';
import type { ReadinessState } from '../../../domain/events/readinessEvents.ts';
import { addressRules } from './addresses.ts';
import { type Answer, answerFor, answerKey } from './answers.ts';
import { billingEntityRules } from './billingEntity.ts';
import { codeSetRules } from './codeSetRules.ts';
import { dateRules } from './dates.ts';
import { claimRules, documentRules } from './encounter.ts';
import { facilityRules } from './facility.ts';
import { insuranceRules, isSelfPay, payerType } from './insurance.ts';
import { patientRules } from './patient.ts';
import { payerRulesIn } from './payerRules.ts';
import { placeholderRules } from './placeholders.ts';
import { providerRules } from './provider.ts';
import {
  type BillingFacts,
  choiceOf,
  type Fault,
  isVoid,
  type Rule,
  type RuleSettings,
  type Severity,
} from './rule.ts';

/** Every rule, in the order in which a claim is filled in. */
export const rules: readonly Rule[] = [
  ...dateRules,
  ...providerRules,
  ...facilityRules,
  ...billingEntityRules,
  ...documentRules,
  ...insuranceRules,
  ...patientRules,
  ...addressRules,
  ...placeholderRules,
  ...codeSetRules,
  ...claimRules,
];

const byCode = new Map(rules.map((rule) => [rule.code, rule]));

/** Returns the rule with a code, of payers those in `settings`; undefined where there is none, or no longer. */
export function ruleOf(code: string, settings: Pick<RuleSettings, 'payerRules'> = {}): Rule | undefined {
  return byCode.get(code) ?? payerRulesIn(settings).find((rule) => rule.code === code);
}

/** A digest of what determines the worklist: the rules, and the version, severity and owner of each. */
export const rulesDigest = createHash('sha256')
  .update(
    JSON.stringify(rules.map(({ code, version = 1, severity, owner }) => [code, version, severity, owner])),
  )
  .digest('hex')
  .slice(0, 12);

/** A fault with the rule that found it, and how much that counts in the workspace. */
export interface Finding extends Fault {
  rule: Rule;
  severity: Severity;
  /** What holds of what was answered to it; undefined where nothing was. */
  answer?: Answer;
}

/**
 * What the rules, or some of them, find in the facts, also what begins or ends by itself some day; in the order of the rules. In a void
 * encounter only those find anything that hold for one.
 */
export function findingsOf(
  facts: BillingFacts,
  settings: RuleSettings,
  applied: readonly Rule[] = [...rules, ...payerRulesIn(settings)],
): Finding[] {
  const payer = { payer_id: facts.payer?.id, payer_type: payerType(facts.payer) };
  const holding = isVoid(facts.encounter) ? applied.filter((rule) => rule.holdsForVoid) : applied;
  return holding.flatMap((rule) => {
    const severity = choiceOf(settings, rule, payer);
    return severity === 'off'
      ? []
      : rule.check(facts, settings).map((fault) => ({
          ...{ ...fault, rule, severity },
          ...answered(facts, settings, rule, fault),
        }));
  });
}

function answered(
  { answers }: BillingFacts,
  { timeZone }: RuleSettings,
  { code }: Rule,
  { record }: Fault,
): Pick<Finding, 'answer'> {
  const given = answers?.get(answerKey(code, record));
  const answer = given && answerFor(given, record.version, timeZone);
  return answer ? { answer } : {};
}

/** Whether a finding stands at a moment, in milliseconds since 1970. */
export function appliesAt(
  { from = -Infinity, until = Infinity }: Pick<Fault, 'from' | 'until'>,
  at: number,
): boolean {
  return from <= at && at < until;
}

/** Whether a finding that stands blocks at a moment, in milliseconds since 1970: not while it is accepted. */
export function blocksAt({ severity, answer }: Pick<Finding, 'severity' | 'answer'>, at: number): boolean {
  return severity === 'blocks' && !(answer?.acceptedUntil !== undefined && at < answer.acceptedUntil.end);
}

/** How an encounter stands at a moment by the findings that stand then: what is void, or not completed, is not billed, whatever else is right. */
export function readinessState(
  { encounter, payer, claim }: BillingFacts,
  standing: readonly Pick<Finding, 'severity' | 'answer'>[],
  at: number,
): ReadinessState {
  if (isVoid(encounter)) return 'voided';
  if (encounter.fields.is_completed !== true) return 'not_completed';
  if (claim?.outcome === 'rejected' || claim?.outcome === 'denied') return 'rejected';
  if (standing.some((finding) => blocksAt(finding, at))) return 'blocked';
  return isSelfPay(payer) ? 'self_pay' : 'ready';
}
