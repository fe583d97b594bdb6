import { dayOf, type Fault, missing, type Rule, textOf } from './rule.ts';

const START = 'primary_insurance.effective_date';
const END = 'primary_insurance.termination_date';

const coverageNotInForce: Rule = {
  code: 'coverage_not_in_force',
  severity: 'blocks',
  title: 'The primary insurance covers the date of service',
  source: 'X12 005010X279A1 (271), DTP*346 to DTP*349: eligibility on the date of service',
  reads: ['encounter.date_of_service', `patient.${START}`, `patient.${END}`],
  check({ encounter, patient }) {
    const service = textOf(encounter, 'date_of_service');
    const [start, end] = [textOf(patient, START), textOf(patient, END)];
    if (patient === undefined || service === undefined) return [];
    const faults: Fault[] = [];
    if (start !== undefined && dayOf(service) < dayOf(start)) {
      const text = 'The coverage of the primary insurance began after the date of service.';
      faults.push({ record: patient, field: START, text });
    }
    if (end !== undefined && dayOf(service) > dayOf(end)) {
      const text = 'The coverage of the primary insurance ended before the date of service.';
      faults.push({ record: patient, field: END, text });
    }
    return faults;
  },
};

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

const insuranceRankGap: Rule = {
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

const payerCodeMissing: Rule = {
  code: 'payer_code_missing',
  severity: 'blocks',
  title: 'The payer of the primary insurance has a code',
  source: 'X12 005010X222A1 (837P), loop 2010BB, NM109',
  reads: ['patient.primary_insurance.payer_id', 'payer.payer_code'],
  check: ({ payer }) => missing(payer, ['payer_code'], 'Clearinghouses route claims by the payer code.'),
};

const FIELD = 'primary_insurance.policy_number';

const policyNumberMissing: Rule = {
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

const primaryInsuranceMissing: Rule = {
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

const relationship = 'primary_insurance.subscriber_relationship';
const needed = ['subscriber_first_name', 'subscriber_last_name', 'subscriber_date_of_birth'].map(
  (field) => `primary_insurance.${field}`,
);

const subscriberIncomplete: Rule = {
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

/** Rules about the insurances of the patient, in the order in which a claim is filled in. */
export const insuranceRules: readonly Rule[] = [
  primaryInsuranceMissing,
  insuranceRankGap,
  coverageNotInForce,
  policyNumberMissing,
  subscriberIncomplete,
  payerCodeMissing,
];
