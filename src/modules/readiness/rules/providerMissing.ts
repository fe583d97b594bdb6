import { missing } from './faults.ts';
import type { Rule } from './rule.ts';

export const providerMissing: Rule = {
  code: 'provider_missing',
  severity: 'blocks',
  title: 'The encounter names its provider',
  source: 'X12 005010X222A1 (837P), loops 2010AA and 2310B',
  reads: ['encounter.provider_id'],
  check: ({ encounter }) => missing(encounter, ['provider_id'], 'A claim needs the billing provider.'),
};
