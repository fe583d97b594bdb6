import { npi, passes } from '../../../domain/records/schema/fieldChecks.ts';
import { distinct, missing, wrong } from './faults.ts';
import type { Rule } from './rule.ts';

export const providerNpi: Rule = {
  code: 'provider_npi',
  severity: 'blocks',
  title: 'The billing provider and the rendering provider have valid NPIs',
  source: '45 CFR 162.406 to 162.412; X12 005010X222A1 (837P), NM109 of loops 2010AA and 2310B',
  reads: ['encounter.provider_id', 'encounter.rendering_provider_id', 'provider.npi'],
  check: ({ provider, renderingProvider }) =>
    distinct(provider, renderingProvider).flatMap((record) => [
      ...missing(record, ['npi'], 'A claim needs the NPI of the provider.'),
      ...wrong(
        record,
        'npi',
        passes(npi),
        'This is not a valid NPI, which begins with 1 or 2 and ends with a check digit.',
      ),
    ]),
};
