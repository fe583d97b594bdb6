import { missing, textOf } from './faults.ts';
import type { Rule } from './rule.ts';

const relationship = 'primary_insurance.subscriber_relationship';
const needed = ['subscriber_first_name', 'subscriber_last_name', 'subscriber_date_of_birth'].map(
  (field) => `primary_insurance.${field}`,
);

export const subscriberIncomplete: Rule = {
  code: 'subscriber_incomplete',
  severity: 'blocks',
  title: 'A subscriber other than the patient is named, with a date of birth',
  source: 'X12 005010X222A1 (837P), loops 2010BA and 2000C',
  reads: [relationship, ...needed].map((field) => `patient.${field}`),
  check({ patient }) {
    const related = textOf(patient, relationship);
    if (related === undefined || related === 'self') return [];
    return missing(patient, needed, 'Someone other than the patient holds the policy, and must be named.');
  },
};
