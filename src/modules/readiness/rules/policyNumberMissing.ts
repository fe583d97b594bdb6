import { missing } from './faults.ts';
import type { Rule } from './rule.ts';

const FIELD = 'primary_insurance.policy_number';

export const policyNumberMissing: Rule = {
  code: 'policy_number_missing',
  severity: 'blocks',
  title: 'The primary insurance has a policy number',
  source: 'X12 005010X222A1 (837P), loop 2010BA, NM109',
  reads: [`patient.${FIELD}`],
  check: ({ patient }) =>
    patient?.fields.primary_insurance === undefined
      ? []
      : missing(patient, [FIELD], 'A claim needs the policy number.'),
};
