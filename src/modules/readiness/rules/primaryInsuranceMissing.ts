import type { Rule } from './rule.ts';

export const primaryInsuranceMissing: Rule = {
  code: 'primary_insurance_missing',
  severity: 'blocks',
  title: 'The patient has a primary insurance',
  source: 'X12 005010X222A1 (837P), loop 2000B, SBR01',
  reads: ['patient.primary_insurance'],
  check({ patient }) {
    if (patient === undefined || patient.fields.primary_insurance !== undefined) return [];
    const text = 'The patient has no primary insurance: there is nobody to send the claim to.';
    return [{ record: patient, field: 'primary_insurance', text }];
  },
};
