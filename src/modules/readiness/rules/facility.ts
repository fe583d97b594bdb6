import { cliaNumber as check, ein, npi, passes } from '../../../domain/records/schema/validation.ts';
import { type BilledRecord, type Fault, missing, type Rule, textOf, wrong } from './rule.ts';

const isLaboratory = (facility: BilledRecord | undefined) =>
  textOf(facility, 'facility_type') === 'laboratory';

const cliaFaults = (facility: BilledRecord | undefined): Fault[] =>
  wrong(
    facility,
    'clia_number',
    passes(check),
    'This is not a CLIA number, which has two digits, a D and seven digits.',
  );

const cliaNumber: Rule = {
  code: 'clia_number',
  version: 2,
  severity: 'blocks',
  title: 'A laboratory has a CLIA number that is well formed',
  source: '42 CFR 493.2 and 493.35; X12 005010X222A1 (837P), REF*X4',
  reads: ['encounter.facility_id', 'facility.facility_type', 'facility.clia_number'],
  check: ({ facility }) =>
    isLaboratory(facility)
      ? [
          ...missing(facility, ['clia_number'], 'A claim of a laboratory needs its CLIA number.'),
          ...cliaFaults(facility),
        ]
      : [],
};

const cliaNumberForm: Rule = {
  code: 'clia_number_form',
  severity: 'warns',
  title: 'The CLIA number of a facility that is no laboratory is well formed',
  source: cliaNumber.source,
  reads: cliaNumber.reads,
  check: ({ facility }) => (isLaboratory(facility) ? [] : cliaFaults(facility)),
};

const facilityMissing: Rule = {
  code: 'facility_missing',
  version: 2,
  severity: 'blocks',
  title: 'The encounter names the facility where the care was given, unless it was telehealth',
  source: 'X12 005010X222A1 (837P), loop 2310C',
  reads: ['encounter.facility_id', 'encounter.visit_type'],
  check: ({ encounter }) =>
    textOf(encounter, 'visit_type') === 'telehealth'
      ? []
      : missing(encounter, ['facility_id'], 'A claim needs the place of service.'),
};

const facilityNpi: Rule = {
  code: 'facility_npi',
  severity: 'blocks',
  title: 'If the facility has an NPI, it is valid',
  source: '45 CFR 162.406; X12 005010X222A1 (837P), loop 2310C, NM109',
  reads: ['encounter.facility_id', 'facility.npi'],
  check: ({ facility }) =>
    wrong(
      facility,
      'npi',
      passes(npi),
      'This is not a valid NPI, which begins with 1 or 2 and ends with a check digit.',
    ),
};

/** No EIN begins with these (IRS, EIN prefixes by campus). */
const unusedPrefixes = '00 07 08 09 17 18 19 28 29 49 69 70 78 79 89 96 97'.split(' ');

const facilityTaxId: Rule = {
  code: 'facility_tax_id',
  version: 2,
  severity: 'blocks',
  title: 'The facility has an EIN that the IRS can have given out',
  source: 'X12 005010X222A1 (837P), loop 2010AA, REF*EI; IRS, EIN prefixes by campus',
  reads: ['encounter.facility_id', 'facility.tax_id'],
  check: ({ facility }) => [
    ...missing(facility, ['tax_id'], 'A claim needs the federal tax ID.'),
    ...wrong(facility, 'tax_id', passes(ein), 'This is not an EIN, which has nine digits.'),
    ...wrong(
      facility,
      'tax_id',
      (value) => !unusedPrefixes.includes(value.slice(0, 2)) && !/^\d\d-?(\d)\1{6}$/.test(value),
      'The IRS has given out no such EIN.',
    ),
  ],
};

/** Visit types that facilities of a type do not have. */
const impossibleVisits: Readonly<Record<string, readonly string[]>> = {
  clinic: ['inpatient'],
  ambulatory_surgery_center: ['inpatient', 'emergency'],
  skilled_nursing_facility: ['emergency', 'surgical', 'observation'],
  laboratory: ['inpatient', 'emergency', 'observation', 'surgical'],
  pharmacy: ['inpatient', 'emergency', 'observation', 'surgical'],
  home_health: ['inpatient', 'emergency', 'observation', 'surgical'],
  telehealth: ['office_visit', 'inpatient', 'emergency', 'observation', 'surgical'],
};

const visitAtFacility: Rule = {
  code: 'visit_at_facility',
  severity: 'warns',
  title: 'The visit type is possible at a facility of this type',
  source: 'CMS Place of Service Code Set; X12 005010X222A1 (837P), loop 2300, CLM05-1',
  reads: ['encounter.visit_type', 'encounter.facility_id', 'facility.facility_type'],
  check: ({ encounter, facility }) =>
    wrong(
      encounter,
      'visit_type',
      (visit) => !impossibleVisits[textOf(facility, 'facility_type') ?? '']?.includes(visit),
      'A facility of this type has no such visits: one of the two is wrong.',
    ),
};

/** Rules about the facility, in the order in which a claim is filled in. */
export const facilityRules: readonly Rule[] = [
  facilityMissing,
  facilityNpi,
  facilityTaxId,
  cliaNumber,
  cliaNumberForm,
  visitAtFacility,
];
