import { distinct, missing } from './faults.ts';
import type { Rule } from './rule.ts';

export const taxonomyCodeMissing: Rule = {
  code: 'taxonomy_code_missing',
  severity: 'warns',
  title: 'The providers have a taxonomy code',
  source: 'X12 005010X222A1 (837P), PRV03 of loops 2000A and 2310B: required by many payers',
  reads: ['encounter.provider_id', 'encounter.rendering_provider_id', 'provider.taxonomy_code'],
  check: ({ provider, renderingProvider }) =>
    distinct(provider, renderingProvider).flatMap((record) =>
      missing(record, ['taxonomy_code'], 'Many payers require the taxonomy code of the provider.'),
    ),
};
