import { filingEnd } from './filingLimits.ts';
import type { Rule } from './rule.ts';

export const timelyFiling: Rule = {
  code: 'timely_filing',
  severity: 'blocks',
  title: 'The encounter was billed in time, or the filing limit set for the payer has not passed',
  source:
    '42 CFR 424.44; CMS Medicare Claims Processing Manual, chapter 1, section 70; contracts with other payers',
  reads: ['encounter.date_of_service', 'patient.primary_insurance.payer_id'],
  check(facts, { filingLimits }) {
    const from = filingEnd(facts, filingLimits);
    if (from === undefined) return [];
    const text = 'The filing limit has passed: the payer no longer accepts claims for this date of service.';
    return [{ record: facts.encounter, field: 'date_of_service', text, from }];
  },
};
