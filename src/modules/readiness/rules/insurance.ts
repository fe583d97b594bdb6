import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import { type BilledRecord, dayOf, type Fault, missing, type Rule, textOf, wrong } from './rule.ts';

/** Returns the type of a payer in lower case, with blanks for what separates words: the field is free text. */
function typeOf(payer: BilledRecord | undefined): string {
  const type = textOf(payer, 'payer_type') ?? '';
  return type
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ');
}

/** Whether the patient pays, and no payer gets a claim. */
export function isSelfPay(payer: BilledRecord | undefined): boolean {
  return typeOf(payer) === 'self pay';
}

const isWorkersCompensation = (payer: BilledRecord | undefined) =>
  /^work(?:er|er's|ers|ers'|man's|men's) comp(?:ensation)?$/.test(typeOf(payer).replaceAll('’', "'"));

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
  version: 2,
  severity: 'blocks',
  title: 'The payer of the primary insurance has a payer ID, unless the patient pays',
  source: 'X12 005010X222A1 (837P), loop 2010BB, NM109',
  reads: ['patient.primary_insurance.payer_id', 'payer.payer_code', 'payer.payer_type'],
  check: ({ payer }) =>
    isSelfPay(payer) ? [] : missing(payer, ['payer_code'], 'Clearinghouses route claims by the payer ID.'),
};

const FIELD = 'primary_insurance.policy_number';

const policyNumberMissing: Rule = {
  code: 'policy_number_missing',
  version: 2,
  severity: 'blocks',
  title: 'The primary insurance has a member ID, unless the patient pays',
  source: 'X12 005010X222A1 (837P), loop 2010BA, NM109',
  reads: [`patient.${FIELD}`, 'payer.payer_type'],
  check: ({ patient, payer }) =>
    patient?.fields.primary_insurance === undefined || isSelfPay(payer)
      ? []
      : missing(patient, [FIELD], 'A claim needs the member ID.'),
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

const ofPrimary = (field: string) => `primary_insurance.${field}`;
const relationship = ofPrimary('subscriber_relationship');
const [firstName, lastName, birthDate] = ['first_name', 'last_name', 'date_of_birth'].map((field) =>
  ofPrimary(`subscriber_${field}`),
) as [string, string, string];

/** Whether the policy is another person's, or an employer's. */
function isOfAnother(patient: BilledRecord | undefined): boolean {
  const related = textOf(patient, relationship);
  return related !== undefined && related !== 'self';
}

const subscriberIncomplete: Rule = {
  code: 'subscriber_incomplete',
  version: 2,
  severity: 'blocks',
  title: 'A subscriber other than the patient is named; an employer by one name',
  source: 'X12 005010X222A1 (837P), loops 2010BA and 2000C',
  reads: [...[relationship, firstName, lastName].map((field) => `patient.${field}`), 'payer.payer_type'],
  check({ patient, payer }) {
    if (!isOfAnother(patient)) return [];
    const needed = isWorkersCompensation(payer) ? [lastName] : [firstName, lastName];
    return missing(patient, needed, 'Someone other than the patient holds the policy, and must be named.');
  },
};

const subscriberBirthDateMissing: Rule = {
  code: 'subscriber_birth_date_missing',
  severity: 'warns',
  title: 'The date of birth of a subscriber other than the patient is known, unless it is an employer',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02: expected by many payers',
  reads: [...[relationship, birthDate].map((field) => `patient.${field}`), 'payer.payer_type'],
  check: ({ patient, payer }) =>
    isOfAnother(patient) && !isWorkersCompensation(payer)
      ? missing(patient, [birthDate], 'Many payers find the policy by the date of birth of its holder.')
      : [],
};

/** Returns which of the subscriber's names and date of birth are present, and differ from those of the patient. */
function differing(patient: BilledRecord): string[] {
  const isOther = (field: string) => {
    const [value, own] = [field, field.replace(ofPrimary('subscriber_'), '')].map((name) =>
      textOf(patient, name),
    );
    if (value === undefined || own === undefined) return false;
    return field === birthDate
      ? dayOf(value) !== dayOf(own)
      : value.trim().toUpperCase() !== own.trim().toUpperCase();
  };
  return [firstName, lastName, birthDate].filter(isOther);
}

const subscriberMismatch: Rule = {
  code: 'subscriber_mismatch',
  severity: 'warns',
  title: 'The names and date of birth of the subscriber agree with the relationship to the patient',
  source: 'X12 005010X222A1 (837P), SBR02 and loop 2010BA',
  reads: [relationship, firstName, lastName, birthDate, 'first_name', 'last_name', 'date_of_birth'].map(
    (field) => `patient.${field}`,
  ),
  check({ patient }) {
    if (patient === undefined || isOfAnother(patient)) return [];
    const others = differing(patient);
    if (textOf(patient, relationship) === 'self') {
      const text = 'The patient is the subscriber, but the record of the patient has something else here.';
      return others.map((field) => ({ record: patient, field, text }));
    }
    const isNamed = others.some((field) => field !== birthDate);
    return isNamed ? missing(patient, [relationship], 'Someone else is named as the subscriber.') : [];
  },
};

const subscriberImplausible: Rule = {
  code: 'subscriber_implausible',
  severity: 'blocks',
  title: 'A subscriber other than the patient is another person, already born, and older than a child',
  source: 'X12 005010X222A1 (837P), SBR02, PAT01 and loop 2010BA',
  reads: subscriberMismatch.reads,
  check({ patient }) {
    if (patient === undefined || !isOfAnother(patient)) return [];
    const [born, own] = [textOf(patient, birthDate), textOf(patient, 'date_of_birth')];
    const faults: Fault[] = [];
    const isNamed = [firstName, lastName, birthDate].every((field) => textOf(patient, field) !== undefined);
    if (isNamed && differing(patient).length === 0) {
      const text = 'The subscriber is the patient, whose relationship would be self.';
      faults.push({ record: patient, field: relationship, text });
    }
    if (born === undefined) return faults;
    if (textOf(patient, relationship) === 'child' && own !== undefined && dayOf(born) >= dayOf(own)) {
      const text = 'The patient is a child of the subscriber, and not younger.';
      faults.push({ record: patient, field: birthDate, text });
    }
    const text = 'The subscriber is not born yet.';
    return [...faults, { record: patient, field: birthDate, text, until: instantOf(born) }];
  },
};

/** Letters of a Medicare Beneficiary Identifier: without S, L, O, I, B and Z. */
const LETTER = '[AC-HJKMNP-RT-Y]';
const EITHER = '[AC-HJKMNP-RT-Y0-9]';
const MBI = new RegExp(`^[1-9]${LETTER}${EITHER}\\d${LETTER}${EITHER}\\d${LETTER}{2}\\d{2}$`);

const medicareMemberId: Rule = {
  code: 'medicare_member_id',
  severity: 'blocks',
  title: 'The member ID of Medicare is a Medicare Beneficiary Identifier',
  source: 'CMS, Understanding the Medicare Beneficiary Identifier format',
  reads: [`patient.${FIELD}`, 'payer.payer_type'],
  check: ({ patient, payer }) =>
    typeOf(payer) === 'medicare'
      ? wrong(
          patient,
          FIELD,
          (value) => MBI.test(value.replaceAll(/[\s-]/g, '').toUpperCase()),
          'This is not a Medicare Beneficiary Identifier, which has 11 characters.',
        )
      : [],
};

const isSelf = (value: string) => value === 'self';

const medicareSubscriber: Rule = {
  code: 'medicare_subscriber',
  severity: 'blocks',
  title: 'Who has Medicare is the subscriber',
  source: 'CMS Medicare Claims Processing Manual, chapter 26, section 10: the beneficiary is the insured',
  reads: [`patient.${relationship}`, 'payer.payer_type'],
  check: ({ patient, payer }) =>
    typeOf(payer) === 'medicare'
      ? wrong(patient, relationship, isSelf, 'Medicare insures nobody through somebody else.')
      : [],
};

const medicaidSubscriber: Rule = {
  code: 'medicaid_subscriber',
  severity: 'warns',
  title: 'Who has Medicaid is the subscriber',
  source: 'State Medicaid companion guides to X12 005010X222A1 (837P), SBR02',
  reads: medicareSubscriber.reads,
  check: ({ patient, payer }) =>
    typeOf(payer) === 'medicaid'
      ? wrong(patient, relationship, isSelf, 'Medicaid rarely insures somebody through somebody else.')
      : [],
};

const otherInsurances: Rule = {
  code: 'other_insurance',
  severity: 'warns',
  title:
    'Secondary and tertiary insurances have a member ID, cover the date of service, and repeat none before them',
  source: 'X12 005010X222A1 (837P), loops 2320 and 2330A',
  reads: ['encounter.date_of_service', ...ranks.map((rank) => `patient.${rank}`)],
  check({ encounter, patient }) {
    if (patient === undefined) return [];
    const service = dayOf(textOf(encounter, 'date_of_service') ?? '');
    const policyOf = (rank: string) =>
      JSON.stringify(['payer_id', 'policy_number'].map((field) => textOf(patient, `${rank}.${field}`)));
    return ranks.slice(1).flatMap((rank, before) => {
      if (patient.fields[rank] === undefined) return [];
      const isRepeated = ranks.slice(0, before + 1).some((other) => policyOf(other) === policyOf(rank));
      const text = 'The patient has this insurance at a higher rank.';
      return [
        ...missing(patient, [`${rank}.policy_number`], 'A claim to this payer needs the member ID.'),
        ...(isRepeated ? [{ record: patient, field: rank, text }] : []),
        ...wrong(
          patient,
          `${rank}.effective_date`,
          (start) => service === '' || dayOf(start) <= service,
          'This coverage began after the date of service.',
        ),
        ...wrong(
          patient,
          `${rank}.termination_date`,
          (end) => dayOf(end) >= service,
          'This coverage ended before the date of service.',
        ),
      ];
    });
  },
};

/** Rules about the insurances of the patient, in the order in which a claim is filled in. */
export const insuranceRules: readonly Rule[] = [
  primaryInsuranceMissing,
  insuranceRankGap,
  coverageNotInForce,
  policyNumberMissing,
  medicareMemberId,
  medicareSubscriber,
  medicaidSubscriber,
  subscriberIncomplete,
  subscriberBirthDateMissing,
  subscriberMismatch,
  subscriberImplausible,
  payerCodeMissing,
  otherInsurances,
];
