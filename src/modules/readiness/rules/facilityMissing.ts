import { missing } from './faults.ts';
import type { Rule } from './rule.ts';

export const facilityMissing: Rule = {
  code: 'facility_missing',
  severity: 'blocks',
  title: 'The encounter names the facility where the care was given',
  source: 'X12 005010X222A1 (837P), loop 2310C',
  reads: ['encounter.facility_id'],
  check: ({ encounter }) => missing(encounter, ['facility_id'], 'A claim needs the place of service.'),
};
