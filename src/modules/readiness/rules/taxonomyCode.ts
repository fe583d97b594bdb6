import { taxonomyCode as check, passes } from '../../../domain/records/schema/fieldChecks.ts';
import { distinct, wrong } from './faults.ts';
import type { Rule } from './rule.ts';

export const taxonomyCode: Rule = {
  code: 'taxonomy_code',
  severity: 'blocks',
  title: 'The taxonomy codes of the providers are in the NUCC set, or well formed while no set is loaded',
  source: 'NUCC Health Care Provider Taxonomy; X12 005010X222A1 (837P), PRV03 of loops 2000A and 2310B',
  reads: ['encounter.provider_id', 'encounter.rendering_provider_id', 'provider.taxonomy_code'],
  check: ({ provider, renderingProvider }, { taxonomyCodes }) =>
    distinct(provider, renderingProvider).flatMap((record) =>
      taxonomyCodes === undefined
        ? wrong(
            record,
            'taxonomy_code',
            passes(check),
            'This does not have the form of a NUCC taxonomy code.',
          )
        : wrong(
            record,
            'taxonomy_code',
            (value) => taxonomyCodes.has(value),
            'This code is not in the NUCC set.',
          ),
    ),
};
