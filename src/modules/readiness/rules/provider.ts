import { taxonomyCode as check, npi, passes } from '../../../domain/records/schema/validation.ts';
import { distinct, missing, type Rule, textOf, wrong } from './rule.ts';

const providerMissing: Rule = {
  code: 'provider_missing',
  severity: 'blocks',
  title: 'The encounter names its provider',
  source: 'X12 005010X222A1 (837P), loops 2010AA and 2310B',
  reads: ['encounter.provider_id'],
  check: ({ encounter }) => missing(encounter, ['provider_id'], 'A claim needs the billing provider.'),
};

const providerNpi: Rule = {
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

const unfitting = ['referring_provider', 'billing_provider'];

const renderingRole: Rule = {
  code: 'rendering_role',
  version: 2,
  severity: 'warns',
  title: 'The rendering provider has a role that gives care',
  source: 'X12 005010X222A1 (837P), loops 2310A and 2310B',
  reads: ['encounter.rendering_provider_id', 'provider.role'],
  check: ({ encounter, renderingProvider }) =>
    unfitting.includes(textOf(renderingProvider, 'role') ?? '')
      ? [
          {
            ...{ record: encounter, field: 'rendering_provider_id' },
            text: 'Someone who refers patients or bills for others did not give the care.',
          },
        ]
      : [],
};

const taxonomyCode: Rule = {
  code: 'taxonomy_code',
  severity: 'blocks',
  title: 'The taxonomy codes of the providers are in the NUCC set, or well formed while no set is loaded',
  source: 'NUCC Health Care Provider Taxonomy; X12 005010X222A1 (837P), PRV03 of loops 2000A and 2310B',
  reads: ['encounter.provider_id', 'encounter.rendering_provider_id', 'provider.taxonomy_code'],
  check: ({ provider, renderingProvider }, { codeSets: { nucc } = {} }) =>
    distinct(provider, renderingProvider).flatMap((record) =>
      nucc === undefined
        ? wrong(
            record,
            'taxonomy_code',
            passes(check),
            'This does not have the form of a NUCC taxonomy code.',
          )
        : wrong(
            record,
            'taxonomy_code',
            (value) => nucc.codes.has(value),
            'This code is not in the NUCC set.',
          ),
    ),
};

const taxonomyCodeMissing: Rule = {
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

/** NUCC has the codes of groups and organizations in these of its groupings; the others are of people. */
const OF_ORGANIZATION = /^(?:19|2[5-9]|3[0-58])/;

const organizationTaxonomy: Rule = {
  code: 'taxonomy_of_organization',
  severity: 'warns',
  title: 'The taxonomy code of a provider is that of a person',
  source: 'NUCC Health Care Provider Taxonomy: individuals, groups and non-individuals',
  reads: taxonomyCodeMissing.reads,
  check: ({ provider, renderingProvider }) =>
    distinct(provider, renderingProvider).flatMap((record) =>
      wrong(
        record,
        'taxonomy_code',
        (value) => !OF_ORGANIZATION.test(value),
        'This is the code of a group or an organization, such as a clinic.',
      ),
    ),
};

/** Rules about the rendering provider, in the order in which a claim is filled in. */
export const providerRules: readonly Rule[] = [
  providerMissing,
  providerNpi,
  taxonomyCode,
  taxonomyCodeMissing,
  organizationTaxonomy,
  renderingRole,
];
