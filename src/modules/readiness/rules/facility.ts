import { cliaNumber as check, ein, npi, passes } from '../../../domain/records/schema/validation.ts';
import { missing, type Rule, textOf, wrong } from './rule.ts';

const cliaNumber: Rule = {
  code: 'clia_number',
  severity: 'blocks',
  title: 'A laboratory has a CLIA number, and every CLIA number is well formed',
  source: '42 CFR 493.2 and 493.35; X12 005010X222A1 (837P), REF*X4',
  reads: ['encounter.facility_id', 'facility.facility_type', 'facility.clia_number'],
  check: ({ facility }) => [
    ...(textOf(facility, 'facility_type') === 'laboratory'
      ? missing(facility, ['clia_number'], 'A claim of a laboratory needs its CLIA number.')
      : []),
    ...wrong(
      facility,
      'clia_number',
      passes(check),
      'This is not a CLIA number, which has two digits, a D and seven digits.',
    ),
  ],
};

const facilityMissing: Rule = {
  code: 'facility_missing',
  severity: 'blocks',
  title: 'The encounter names the facility where the care was given',
  source: 'X12 005010X222A1 (837P), loop 2310C',
  reads: ['encounter.facility_id'],
  check: ({ encounter }) => missing(encounter, ['facility_id'], 'A claim needs the place of service.'),
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

const facilityTaxId: Rule = {
  code: 'facility_tax_id',
  severity: 'blocks',
  title: 'The facility has an EIN',
  source: 'X12 005010X222A1 (837P), loop 2010AA, REF*EI',
  reads: ['encounter.facility_id', 'facility.tax_id'],
  check: ({ facility }) => [
    ...missing(facility, ['tax_id'], 'A claim needs the federal tax ID.'),
    ...wrong(facility, 'tax_id', passes(ein), 'This is not an EIN, which has nine digits.'),
  ],
};

/** Rules about the facility, in the order in which a claim is filled in. */
export const facilityRules: readonly Rule[] = [facilityMissing, facilityNpi, facilityTaxId, cliaNumber];
