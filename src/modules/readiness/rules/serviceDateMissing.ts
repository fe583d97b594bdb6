import { missing } from './faults.ts';
import type { Rule } from './rule.ts';

export const serviceDateMissing: Rule = {
  code: 'service_date_missing',
  severity: 'blocks',
  title: 'The encounter has a date of service',
  source: 'X12 005010X222A1 (837P), loop 2400, DTP*472',
  reads: ['encounter.date_of_service'],
  check: ({ encounter }) => missing(encounter, ['date_of_service'], 'A claim needs the date of service.'),
};
