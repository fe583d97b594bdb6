import { serviceDay } from './days.ts';
import { type BillingFacts, distinct, type Rule, type RuleSettings, wrong } from './rule.ts';

const npiReads = [
  ...['encounter.provider_id', 'encounter.rendering_provider_id', 'encounter.facility_id'],
  ...['provider.npi', 'facility.npi'],
];

const billed = ({ provider, renderingProvider, facility }: BillingFacts) =>
  distinct(provider, renderingProvider, facility);

/** Whether a code had ended, as a set says, on the day of service. */
function hasEnded(
  ended: ReadonlyMap<string, string>,
  code: string,
  { encounter }: BillingFacts,
  settings: RuleSettings,
): boolean {
  const day = serviceDay(encounter, settings);
  const end = ended.get(code);
  return day !== undefined && end !== undefined && end <= day;
}

const npiUnknown: Rule = {
  code: 'npi_unknown',
  severity: 'blocks',
  title: 'The NPIs of providers and facility are in NPPES, once its file is loaded',
  source: '45 CFR 162.410: NPIs are assigned by NPPES; X12 005010X222A1 (837P), NM109',
  reads: npiReads,
  check: (facts, { codeSets: { nppes } = {} }) =>
    nppes === undefined
      ? []
      : billed(facts).flatMap((record) =>
          wrong(
            record,
            'npi',
            (npi) => !nppes.unknown.has(npi),
            'NPPES had not assigned this NPI when its file was loaded.',
          ),
        ),
};

const npiDeactivated: Rule = {
  code: 'npi_deactivated',
  severity: 'blocks',
  title:
    'The NPIs of providers and facility are not deactivated on the date of service, once NPPES is loaded',
  source: 'NPPES, NPI Deactivation Date; X12 005010X222A1 (837P), NM109',
  reads: [...npiReads, 'encounter.date_of_service'],
  check: (facts, settings) => {
    const ended = settings.codeSets?.nppes?.ended ?? new Map();
    return billed(facts).flatMap((record) =>
      wrong(
        record,
        'npi',
        (npi) => !hasEnded(ended, npi, facts, settings),
        'NPPES had deactivated this NPI by the date of service.',
      ),
    );
  },
};

const npiEntityType: Rule = {
  code: 'npi_entity_type',
  severity: 'warns',
  title: 'A facility has the NPI of an organization and a provider that of a person, once NPPES is loaded',
  source: 'NPPES, Entity Type Code; X12 005010X222A1 (837P), NM102 of loops 2010AA, 2310B and 2310C',
  reads: npiReads,
  check({ provider, renderingProvider, facility }, { codeSets: { nppes } = {} }) {
    if (nppes === undefined) return [];
    const { codes, organizations, ended } = nppes;
    // NPPES says of a deactivated NPI that it is, and nothing else.
    const isPerson = (npi: string) => codes.has(npi) && !organizations.has(npi) && !ended.has(npi);
    return [
      ...distinct(provider, renderingProvider).flatMap((record) =>
        wrong(record, 'npi', (npi) => !organizations.has(npi), 'This is the NPI of an organization.'),
      ),
      ...wrong(
        facility,
        'npi',
        (npi) => !isPerson(npi),
        'This is the NPI of a person: a facility bills under that of its organization.',
      ),
    ];
  },
};

const cliaUnlisted: Rule = {
  code: 'clia_unlisted',
  severity: 'warns',
  title: 'The CLIA number is in the list of CMS, and has not ended by the date of service, once it is loaded',
  source: 'CMS, Provider of Services File, clinical laboratories; X12 005010X222A1 (837P), REF*X4',
  reads: ['encounter.facility_id', 'facility.clia_number', 'encounter.date_of_service'],
  check(facts, settings) {
    const clia = settings.codeSets?.clia;
    if (clia === undefined) return [];
    const at = (passes: (number: string) => boolean, text: string) =>
      wrong(facts.facility, 'clia_number', passes, text);
    return [
      ...at((number) => !clia.unknown.has(number), 'The list of CMS has no such CLIA number.'),
      ...at(
        (number) => !hasEnded(clia.ended, number, facts, settings),
        'This CLIA number had ended by the date of service.',
      ),
    ];
  },
};

/** Rules that find something only once NPPES or the CLIA numbers are loaded, in the order in which a claim is filled in. */
export const codeSetRules: readonly Rule[] = [npiUnknown, npiDeactivated, npiEntityType, cliaUnlisted];
