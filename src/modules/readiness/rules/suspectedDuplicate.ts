import type { Rule } from './rule.ts';
import { sameVisitOf } from './sameVisitOf.ts';

const MOST_NAMED = 5;

export const suspectedDuplicate: Rule = {
  code: 'suspected_duplicate',
  severity: 'warns',
  title: 'No other encounter has the same patient, provider, day of service and facility',
  source: 'CMS Medicare Claims Processing Manual, chapter 1, section 120: exact and suspect duplicate claims',
  reads: ['patient_id', 'provider_id', 'date_of_service', 'facility_id'].map((field) => `encounter.${field}`),
  comparesEncounters: true,
  check: ({ encounter, sameVisit = [] }) =>
    sameVisitOf(encounter, sameVisit)
      .slice(0, MOST_NAMED)
      .map((record) => ({
        record,
        field: 'date_of_service',
        text: 'This other encounter has the same patient, provider, day of service and facility: one of the two may be a duplicate.',
      })),
};
