import { passes, state, zipCode } from '../../../domain/records/schema/fieldChecks.ts';
import { distinct, isInUs, missing, wrong } from './faults.ts';
import type { Rule } from './rule.ts';

const needed = ['address_line_1', 'city', 'state', 'zip_code'];

export const addressIncomplete: Rule = {
  code: 'address_incomplete',
  severity: 'blocks',
  title: 'Patient, provider and facility have complete addresses',
  source: 'X12 005010X222A1 (837P), N3 and N4 of loops 2010AA, 2010BA and 2310C; USPS Publication 28',
  reads: ['patient', 'provider', 'facility'].flatMap((kind) =>
    [...needed, 'country'].map((field) => `${kind}.${field}`),
  ),
  check: ({ patient, provider, facility }) =>
    distinct(patient, provider, facility)
      .filter(isInUs)
      .flatMap((record) => [
        ...missing(record, needed, 'A claim needs street, city, state and ZIP code.'),
        ...wrong(record, 'state', passes(state), 'USPS knows no such state.'),
        ...wrong(
          record,
          'zip_code',
          passes(zipCode),
          'This is not a ZIP code, which has five or nine digits.',
        ),
      ]),
};
