import { malformed } from './addresses.ts';
import { momentOf, serviceDay } from './days.ts';
import { likeSsnFaults, numberFaults, ssnFaults } from './placeholders.ts';
import { MBI } from './repairs.ts';
import {
  type BilledRecord,
  type BillingFacts,
  dayOf,
  type Fault,
  missing,
  type Rank,
  type Rule,
  type RuleSettings,
  ranks,
  textOf,
  wrong,
} from './rule.ts';

/** Returns the type of a payer in lower case; '' where it has none. */
export function payerType(payer: BilledRecord | undefined): string {
  return (textOf(payer, 'payer_type') ?? '').toLowerCase();
}

/** Whether the patient pays, and no payer gets a claim. */
export function isSelfPay(payer: BilledRecord | undefined): boolean {
  return payerType(payer) === 'self-pay';
}

/** Whether an employer holds the policy. */
function isWorkersCompensation(payer: BilledRecord | undefined): boolean {
  return payerType(payer) === 'workers compensation';
}

/** An insurance of the patient. */
interface Insurance {
  rank: Rank;
  patient: BilledRecord;
  payer: BilledRecord | undefined;
  encounter: BilledRecord;
  settings: RuleSettings;
}

/** What is asked of an insurance, whatever its rank. */
type Check = (insurance: Insurance) => Fault[];

/** Returns the insurances of the patient in the order of their ranks, each with its payer. */
function insurancesOf(
  { patient, payer, otherPayers = [], encounter }: BillingFacts,
  settings: RuleSettings,
): Insurance[] {
  if (patient === undefined) return [];
  return ranks.flatMap((rank, index) =>
    patient.fields[rank] === undefined
      ? []
      : [{ rank, patient, payer: index === 0 ? payer : otherPayers[index - 1], encounter, settings }],
  );
}

/** Returns the check of a rule of the primary insurance. */
const ofPrimary =
  (check: Check): Rule['check'] =>
  ({ patient, payer, encounter }, settings) =>
    patient?.fields.primary_insurance === undefined
      ? []
      : check({ rank: 'primary_insurance', patient, payer, encounter, settings });

const reading = (...fields: string[]) => fields.map((field) => `patient.primary_insurance.${field}`);

const covers: Check = ({ rank, patient, encounter, settings }) => {
  const service = serviceDay(encounter, settings);
  if (service === undefined) return [];
  return [
    ...wrong(
      patient,
      `${rank}.effective_date`,
      (start) => dayOf(start) <= service,
      'This coverage began after the date of service.',
    ),
    ...wrong(
      patient,
      `${rank}.termination_date`,
      (end) => dayOf(end) >= service,
      'This coverage ended before the date of service.',
    ),
  ];
};

const coverageNotInForce: Rule = {
  code: 'coverage_not_in_force',
  version: 2,
  severity: 'blocks',
  title: 'The primary insurance covers the date of service',
  source: 'X12 005010X279A1 (271), DTP*346 to DTP*349: eligibility on the date of service',
  reads: ['encounter.date_of_service', ...reading('effective_date', 'termination_date')],
  check: ofPrimary(covers),
};

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

const hasPayerId: Check = ({ payer }) =>
  isSelfPay(payer) ? [] : missing(payer, ['payer_code'], 'Clearinghouses route claims by the payer ID.');

const payerCodeMissing: Rule = {
  code: 'payer_code_missing',
  version: 2,
  severity: 'blocks',
  title: 'The payer of the primary insurance has a payer ID, unless the patient pays',
  source: 'X12 005010X222A1 (837P), loop 2010BB, NM109',
  reads: [...reading('payer_id'), 'payer.payer_code', 'payer.payer_type'],
  check: ofPrimary(hasPayerId),
};

const hasListedPayerId: Check = ({ payer, settings }) => {
  const { payers } = settings.codeSets ?? {};
  if (payers === undefined || isSelfPay(payer)) return [];
  const isListed = (code: string) => payers.codes.has(code.toUpperCase());
  return wrong(payer, 'payer_code', isListed, 'The clearinghouse has no payer with this payer ID.');
};

const payerCodeUnlisted: Rule = {
  code: 'payer_code_unlisted',
  severity: 'blocks',
  title: 'The clearinghouse has the payer ID of the primary insurance, once its list is loaded',
  source: 'List of payers of the clearinghouse; X12 005010X222A1 (837P), loop 2010BB, NM109',
  reads: payerCodeMissing.reads,
  check: ofPrimary(hasListedPayerId),
};

const hasPayerType: Check = ({ payer }) =>
  missing(
    payer,
    ['payer_type'],
    'The filing limit, and what the payer asks for, depend on whether it is Medicare, for example.',
  );

const payerTypeMissing: Rule = {
  code: 'payer_type_missing',
  severity: 'warns',
  title: 'The type of the payer of the primary insurance is known',
  source: 'X12 005010X222A1 (837P), loop 2000B, SBR09',
  reads: [...reading('payer_id'), 'payer.payer_type'],
  check: ofPrimary(hasPayerType),
};

const hasMemberId: Check = ({ rank, patient, payer }) =>
  isSelfPay(payer) ? [] : missing(patient, [`${rank}.policy_number`], 'A claim needs the member ID.');

const policyNumberMissing: Rule = {
  code: 'policy_number_missing',
  version: 2,
  severity: 'blocks',
  title: 'The primary insurance has a member ID, unless the patient pays',
  source: 'X12 005010X222A1 (837P), loop 2010BA, NM109',
  reads: [...reading('policy_number'), 'payer.payer_type'],
  check: ofPrimary(hasMemberId),
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

const RELATIONSHIP = 'subscriber_relationship';
const BIRTH_DATE = 'subscriber_date_of_birth';
const names = ['subscriber_first_name', 'subscriber_last_name'];

const relationshipIn = ({ rank, patient }: Insurance) => textOf(patient, `${rank}.${RELATIONSHIP}`);

/** Whether the policy is another person's, or an employer's. */
function isOfAnother(insurance: Insurance): boolean {
  return (relationshipIn(insurance) ?? 'self') !== 'self';
}

const namesSubscriber: Check = (insurance) => {
  if (!isOfAnother(insurance)) return [];
  const { rank, patient, payer } = insurance;
  const needed = isWorkersCompensation(payer) ? names.slice(1) : names;
  return missing(
    patient,
    needed.map((field) => `${rank}.${field}`),
    'Someone other than the patient holds the policy, and must be named.',
  );
};

const subscriberIncomplete: Rule = {
  code: 'subscriber_incomplete',
  version: 2,
  severity: 'blocks',
  title: 'A subscriber other than the patient is named; an employer by one name',
  source: 'X12 005010X222A1 (837P), loops 2010BA and 2000C',
  reads: [...reading(RELATIONSHIP, ...names), 'payer.payer_type'],
  check: ofPrimary(namesSubscriber),
};

const knowsBirthDate: Check = (insurance) =>
  isOfAnother(insurance) && !isWorkersCompensation(insurance.payer)
    ? missing(
        insurance.patient,
        [`${insurance.rank}.${BIRTH_DATE}`],
        'Many payers find the policy by the date of birth of its holder.',
      )
    : [];

const subscriberBirthDateMissing: Rule = {
  code: 'subscriber_birth_date_missing',
  severity: 'warns',
  title: 'The date of birth of a subscriber other than the patient is known, unless it is an employer',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02: expected by many payers',
  reads: [...reading(RELATIONSHIP, BIRTH_DATE), 'payer.payer_type'],
  check: ofPrimary(knowsBirthDate),
};

/** Returns which of the subscriber's names and date of birth are present, and differ from those of the patient. */
function differing({ rank, patient }: Insurance): string[] {
  return [...names, BIRTH_DATE]
    .filter((field) => {
      const value = textOf(patient, `${rank}.${field}`);
      const own = textOf(patient, field.replace('subscriber_', ''));
      if (value === undefined || own === undefined) return false;
      return field === BIRTH_DATE ? dayOf(value) !== dayOf(own) : value.toUpperCase() !== own.toUpperCase();
    })
    .map((field) => `${rank}.${field}`);
}

const agrees: Check = (insurance) => {
  if (isOfAnother(insurance)) return [];
  const { rank, patient } = insurance;
  const others = differing(insurance);
  if (relationshipIn(insurance) === 'self') {
    const text = 'The patient is the subscriber, but the record of the patient has something else here.';
    return others.map((field) => ({ record: patient, field, text }));
  }
  const isNamed = others.some((field) => field.endsWith('name'));
  return isNamed
    ? missing(patient, [`${rank}.${RELATIONSHIP}`], 'Someone else is named as the subscriber.')
    : [];
};

const subscriberMismatch: Rule = {
  code: 'subscriber_mismatch',
  severity: 'warns',
  title: 'The names and date of birth of the subscriber agree with the relationship to the patient',
  source: 'X12 005010X222A1 (837P), SBR02 and loop 2010BA',
  reads: [
    ...reading(RELATIONSHIP, ...names, BIRTH_DATE),
    ...['first_name', 'last_name', 'date_of_birth'].map((field) => `patient.${field}`),
  ],
  check: ofPrimary(agrees),
};

const isPlausible: Check = (insurance) => {
  const { rank, patient, settings } = insurance;
  const relationship = relationshipIn(insurance);
  if (relationship === 'self') return [];
  const field = `${rank}.${BIRTH_DATE}`;
  const [born, own] = [textOf(patient, field), textOf(patient, 'date_of_birth')];
  const faults: Fault[] = [];
  const isKnown = [...names, BIRTH_DATE].every((one) => textOf(patient, `${rank}.${one}`) !== undefined);
  if (relationship !== undefined && isKnown && differing(insurance).length === 0) {
    const text = 'The subscriber is the patient, whose relationship would be self.';
    faults.push({ record: patient, field: `${rank}.${RELATIONSHIP}`, text });
  }
  if (born === undefined) return faults;
  if (relationship === 'child' && own !== undefined && dayOf(born) >= dayOf(own)) {
    const text = 'The patient is a child of the subscriber, and not younger.';
    faults.push({ record: patient, field, text });
  }
  if (born < '1900')
    return [...faults, { record: patient, field, text: 'The subscriber was born before 1900.' }];
  const until = momentOf(born, settings);
  return [...faults, { record: patient, field, text: 'The subscriber is not born yet.', until }];
};

const subscriberImplausible: Rule = {
  code: 'subscriber_implausible',
  version: 2,
  severity: 'blocks',
  title: 'A subscriber other than the patient is another person, already born, and older than a child',
  source: 'X12 005010X222A1 (837P), SBR02, PAT01 and loop 2010BA',
  reads: subscriberMismatch.reads,
  check: ofPrimary(isPlausible),
};

const isWellAddressed: Check = ({ rank, patient }) => malformed(patient, `${rank}.subscriber_`);

const subscriberAddress: Rule = {
  code: 'subscriber_address',
  severity: 'warns',
  title: 'State and ZIP code of the subscriber are well formed',
  source: 'X12 005010X222A1 (837P), loop 2010BA, N4; USPS Publication 28',
  reads: reading('subscriber_state', 'subscriber_zip_code', 'subscriber_country'),
  check: ofPrimary(isWellAddressed),
};

const hasMbi: Check = ({ rank, patient, payer }) =>
  payerType(payer) === 'medicare'
    ? wrong(
        patient,
        `${rank}.policy_number`,
        (value) => MBI.test(value),
        'This is not a Medicare Beneficiary Identifier, which has 11 characters.',
      )
    : [];

const medicareMemberId: Rule = {
  code: 'medicare_member_id',
  severity: 'blocks',
  title: 'The member ID of Medicare is a Medicare Beneficiary Identifier',
  source: 'CMS, Understanding the Medicare Beneficiary Identifier format',
  reads: [...reading('policy_number'), 'payer.payer_type'],
  check: ofPrimary(hasMbi),
};

const insuresHolder =
  (type: string, text: string): Check =>
  ({ rank, patient, payer }) =>
    payerType(payer) === type
      ? wrong(patient, `${rank}.${RELATIONSHIP}`, (value) => value === 'self', text)
      : [];

const insuresByMedicare = insuresHolder('medicare', 'Medicare insures nobody through somebody else.');
const insuresByMedicaid = insuresHolder(
  'medicaid',
  'Medicaid rarely insures somebody through somebody else.',
);

const medicareSubscriber: Rule = {
  code: 'medicare_subscriber',
  severity: 'blocks',
  title: 'Who has Medicare is the subscriber',
  source: 'CMS Medicare Claims Processing Manual, chapter 26, section 10: the beneficiary is the insured',
  reads: [...reading(RELATIONSHIP), 'payer.payer_type'],
  check: ofPrimary(insuresByMedicare),
};

const medicaidSubscriber: Rule = {
  code: 'medicaid_subscriber',
  severity: 'warns',
  title: 'Who has Medicaid is the subscriber',
  source: 'State Medicaid companion guides to X12 005010X222A1 (837P), SBR02',
  reads: medicareSubscriber.reads,
  check: ofPrimary(insuresByMedicaid),
};

/** Everything that is asked of the primary insurance. */
const checks: readonly Check[] = [
  covers,
  hasMemberId,
  ({ rank, patient, payer }) => numberFaults(rank, patient, payer),
  ({ rank, patient }) => ssnFaults(rank, patient),
  ({ rank, patient }) => likeSsnFaults(rank, patient),
  hasMbi,
  insuresByMedicare,
  insuresByMedicaid,
  namesSubscriber,
  knowsBirthDate,
  agrees,
  isPlausible,
  isWellAddressed,
  hasPayerId,
  hasListedPayerId,
  hasPayerType,
];

const otherInsurances: Rule = {
  code: 'other_insurance',
  version: 3,
  severity: 'warns',
  title:
    'Secondary and tertiary insurances meet what is asked of the primary insurance, and repeat none before them',
  source: 'X12 005010X222A1 (837P), loops 2320, 2330A and 2330B',
  reads: [
    'encounter.date_of_service',
    ...[...ranks, 'first_name', 'last_name', 'date_of_birth'].map((field) => `patient.${field}`),
    ...['payer.payer_code', 'payer.payer_type'],
  ],
  check(facts, settings) {
    if (facts.patient?.fields.secondary_insurance === undefined) {
      if (facts.patient?.fields.tertiary_insurance === undefined) return [];
    }
    const all = insurancesOf(facts, settings);
    const policyOf = ({ rank, patient }: Insurance) =>
      JSON.stringify(['payer_id', 'policy_number'].map((field) => textOf(patient, `${rank}.${field}`)));
    return all.flatMap((insurance, index) => {
      const { rank, patient } = insurance;
      if (rank === 'primary_insurance') return [];
      const isRepeated = all.slice(0, index).some((other) => policyOf(other) === policyOf(insurance));
      const text = 'The patient has this insurance at a higher rank.';
      // One fault of a field is enough: the first one may stand where another has ended.
      const faults = checks
        .flatMap((check) => check(insurance))
        .filter(
          ({ record, field }, at, every) =>
            every.findIndex((one) => one.record === record && one.field === field) === at,
        );
      return [...faults, ...(isRepeated ? [{ record: patient, field: rank, text }] : [])];
    });
  },
};

/** Whether a payer of one type pays only what one of another type leaves; of a payer without a type that is not known. */
function paysAfter(type: string, other: string): boolean {
  if (other === '' || other === type) return false;
  if (type === 'self-pay') return true;
  if (other === 'self-pay') return false;
  return type === 'medicaid' || (type === 'tricare' && other !== 'medicaid');
}

const insuranceOrder: Rule = {
  code: 'insurance_order',
  severity: 'warns',
  title:
    'Insurances are in the order in which they pay: Self-Pay and Medicaid last, TRICARE only before these, and Medicare once, second only for a reason',
  source:
    '42 CFR 411.20 to 411.206 (Medicare secondary payer); 42 CFR 433.138 (Medicaid); 32 CFR 199.8 (TRICARE); X12 005010X222A1 (837P), SBR05',
  reads: [...ranks.map((rank) => `patient.${rank}`), 'payer.payer_type'],
  check(facts, settings) {
    const all = insurancesOf(facts, settings).map(({ rank, patient, payer }) => ({
      ...{ rank, patient, type: payerType(payer) },
    }));
    return all.flatMap(({ rank, patient, type }, index) => {
      const faults: Fault[] = [];
      const find = (field: string, text: string) => faults.push({ record: patient, field, text });
      if (all.slice(index + 1).some((other) => paysAfter(type, other.type)))
        find(rank, 'This payer pays only what an insurance of a lower rank leaves: their order is wrong.');
      if (type !== 'medicare' || index === 0) return faults;
      if (all.slice(0, index).some((other) => other.type === type))
        find(rank, 'The patient has Medicare at a higher rank already.');
      else if (textOf(patient, `${rank}.msp_type`) === undefined)
        find(`${rank}.msp_type`, 'Medicare asks why it pays second. This field is empty.');
      return faults;
    });
  },
};

/** Rules about the insurances of the patient, in the order in which a claim is filled in. */
export const insuranceRules: readonly Rule[] = [
  primaryInsuranceMissing,
  insuranceRankGap,
  insuranceOrder,
  coverageNotInForce,
  policyNumberMissing,
  medicareMemberId,
  medicareSubscriber,
  medicaidSubscriber,
  subscriberIncomplete,
  subscriberBirthDateMissing,
  subscriberMismatch,
  subscriberImplausible,
  subscriberAddress,
  payerCodeMissing,
  payerCodeUnlisted,
  payerTypeMissing,
  otherInsurances,
];
