import { ein, passes } from '../../../domain/records/schema/fieldChecks.ts';
import { missing, wrong } from './faults.ts';
import type { Rule } from './rule.ts';

export const facilityTaxId: Rule = {
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
