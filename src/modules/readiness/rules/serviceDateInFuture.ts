import { instantOf } from '../../../domain/records/schema/instantOf.ts';
import { textOf } from './faults.ts';
import type { Rule } from './rule.ts';

export const serviceDateInFuture: Rule = {
  code: 'service_date_in_future',
  severity: 'blocks',
  title: 'The date of service is not in the future',
  source: 'X12 005010X222A1 (837P), loop 2400, DTP*472; CMS Medicare Claims Processing Manual, chapter 1',
  reads: ['encounter.date_of_service'],
  check({ encounter }) {
    const date = textOf(encounter, 'date_of_service');
    if (date === undefined) return [];
    const text = 'The date of service is in the future: nothing can be billed before then.';
    return [{ record: encounter, field: 'date_of_service', text, until: instantOf(date) }];
  },
};
