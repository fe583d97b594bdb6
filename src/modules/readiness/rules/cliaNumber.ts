import { cliaNumber as check, passes } from '../../../domain/records/schema/fieldChecks.ts';
import { missing, textOf, wrong } from './faults.ts';
import type { Rule } from './rule.ts';

export const cliaNumber: Rule = {
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
