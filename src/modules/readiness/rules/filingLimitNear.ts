import { filingEnd } from './filingLimits.ts';
import type { Rule } from './rule.ts';
import { timelyFiling } from './timelyFiling.ts';

const TWO_WEEKS_MS = 14 * 86_400_000;

export const filingLimitNear: Rule = {
  code: 'filing_limit_near',
  severity: 'warns',
  title: 'The encounter was billed, or the filing limit set for the payer is more than two weeks away',
  source: timelyFiling.source,
  reads: timelyFiling.reads,
  check(facts, { filingLimits }) {
    const until = filingEnd(facts, filingLimits);
    if (until === undefined) return [];
    const text = 'In less than two weeks, the payer will no longer accept claims for this date of service.';
    return [{ record: facts.encounter, field: 'date_of_service', text, from: until - TWO_WEEKS_MS, until }];
  },
};
