import { cliaNumber as check, npi, passes } from '../../../domain/records/schema/validation.ts';
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

/** Where each type of facility is (CMS, Place of Service Code Set); of others nothing is known. */
const placesOfFacility: Readonly<Record<string, string>> = {
  // Inpatient, on and off campus, and the emergency room.
  hospital: '19 21 22 23',
  // Office, urgent care, and clinics of several sorts.
  clinic: '11 17 20 49 50 71 72',
  ambulatory_surgery_center: '24',
  skilled_nursing_facility: '31 32',
  laboratory: '81',
  pharmacy: '01',
  home_health: '12',
  // At home, and elsewhere.
  telehealth: '02 10',
};

/** Where each type of visit can be; telehealth and outpatient visits can be anywhere. */
const placesOfVisit: Readonly<Record<string, string>> = {
  office_visit: '01 11 12 17 19 20 21 22 23 24 31 32 49 50 71 72 81',
  inpatient: '21 31',
  emergency: '20 23',
  observation: '11 17 19 20 22 23 24 49 50 71 72',
  surgical: '11 17 19 20 21 22 24 49 50 71 72',
};

/** Visit types that facilities of a type cannot have: they share no place of service. */
const impossibleVisits = new Map(
  Object.entries(placesOfFacility).map(([type, places]) => [
    type,
    Object.entries(placesOfVisit).flatMap(([visit, possible]) =>
      places.split(' ').some((place) => possible.includes(place)) ? [] : [visit],
    ),
  ]),
);

const visitTypeMissing: Rule = {
  code: 'visit_type_missing',
  severity: 'warns',
  title: 'The visit type is known',
  source: 'X12 005010X222A1 (837P), loop 2300, CLM05-1',
  reads: ['encounter.visit_type'],
  check: ({ encounter }) =>
    missing(encounter, ['visit_type'], 'The place of service of a claim depends on the visit type.'),
};

const facilityTypeMissing: Rule = {
  code: 'facility_type_missing',
  severity: 'warns',
  title: 'The type of the facility is known',
  source: visitTypeMissing.source,
  reads: ['encounter.facility_id', 'facility.facility_type'],
  check: ({ facility }) =>
    missing(facility, ['facility_type'], 'The place of service of a claim depends on the type of facility.'),
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
      (visit) => !impossibleVisits.get(textOf(facility, 'facility_type') ?? '')?.includes(visit),
      'A facility of this type has no such visits: one of the two is wrong.',
    ),
};

/** Rules about the facility, in the order in which a claim is filled in. */
export const facilityRules: readonly Rule[] = [
  facilityMissing,
  facilityNpi,
  cliaNumber,
  cliaNumberForm,
  visitTypeMissing,
  facilityTypeMissing,
  visitAtFacility,
];
