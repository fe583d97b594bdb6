import type { Rule } from '../../rule.ts';

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

export const insuranceRankGap: Rule = {
  code: 'insurance_rank_gap',
  severity: 'blocks',
  title: 'The ranks of the insurances of a patient have no gap',
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
        text: 'The patient has an insurance of a lower rank, and none of this one.',
      }));
  },
};
