import { missing } from './faults.ts';
import type { Rule } from './rule.ts';

export const payerCodeMissing: Rule = {
  code: 'payer_code_missing',
  severity: 'blocks',
  title: 'The payer of the primary insurance has a code',
  source: 'X12 005010X222A1 (837P), loop 2010BB, NM109',
  reads: ['patient.primary_insurance.payer_id', 'payer.payer_code'],
  check: ({ payer }) => missing(payer, ['payer_code'], 'Clearinghouses route claims by the payer code.'),
};
