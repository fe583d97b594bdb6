import { npi, passes } from '../../../domain/records/schema/fieldChecks.ts';
import { wrong } from './faults.ts';
import type { Rule } from './rule.ts';

export const facilityNpi: Rule = {
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
