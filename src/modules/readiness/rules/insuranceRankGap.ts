import type { Rule } from './rule.ts';

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

export const insuranceRankGap: Rule = {
  code: 'insurance_rank_gap',
  severity: 'blocks',
  title: 'The insurances of a patient skip no rank',
  source: 'X12 005010X222A1 (837P), SBR01 (P, S, T) of loops 2000B and 2320',
  reads: ranks.map((rank) => `patient.${rank}`),
  check({ patient }) {
    if (patient === undefined) return [];
    const last = ranks.findLastIndex((rank) => patient.fields[rank] !== undefined);
    return ranks
      .slice(0, Math.max(last, 0))
      .filter((rank) => patient.fields[rank] === undefined)
      .map((field) => ({
        record: patient,
        field,
        text: 'The patient has an insurance of a lower rank, but none of this rank.',
      }));
  },
};
