import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import { dayOf, filingEnd, missing, type Rule, textOf } from './rule.ts';

export const timelyFiling: Rule = {
  code: 'timely_filing',
  severity: 'blocks',
  owner: 'billing',
  title: 'The encounter was billed in time, or the filing limit set for the payer has not passed',
  source:
    '42 CFR 424.44; CMS Medicare Claims Processing Manual, chapter 1, section 70; contracts with other payers',
  reads: ['encounter.date_of_service', 'patient.primary_insurance.payer_id'],
  check(facts, { filingLimits }) {
    const from = filingEnd(facts, filingLimits);
    if (from === undefined) return [];
    const text = 'The filing limit has passed: the payer no longer accepts claims for this date of service.';
    return [{ record: facts.encounter, field: 'date_of_service', text, from }];
  },
};

const TWO_WEEKS_MS = 14 * 86_400_000;

export const filingLimitNear: Rule = {
  code: 'filing_limit_near',
  severity: 'warns',
  owner: 'billing',
  title: 'The encounter was billed, or the filing limit set for the payer is more than two weeks away',
  source: timelyFiling.source,
  reads: timelyFiling.reads,
  check(facts, { filingLimits }) {
    const until = filingEnd(facts, filingLimits);
    if (until === undefined) return [];
    const text = 'In less than two weeks, the payer will no longer accept claims for this date of service.';
    return [{ record: facts.encounter, field: 'date_of_service', text, from: until - TWO_WEEKS_MS, until }];
  },
};

const serviceBeforeBirth: Rule = {
  code: 'service_before_birth',
  version: 2,
  severity: 'blocks',
  title: 'The date of service is not before the date of birth of the patient',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02 and loop 2400, DTP*472',
  reads: ['encounter.date_of_service', 'patient.date_of_birth'],
  check({ encounter, patient }) {
    const [service, birth] = [textOf(encounter, 'date_of_service'), textOf(patient, 'date_of_birth')];
    if (service === undefined || birth === undefined || dayOf(service) >= dayOf(birth)) return [];
    const text = 'The date of service is before the date of birth of the patient: one of the two is wrong.';
    return [
      { record: encounter, field: 'date_of_service', text },
      ...(patient === undefined ? [] : [{ record: patient, field: 'date_of_birth', text }]),
    ];
  },
};

const serviceDateInFuture: Rule = {
  code: 'service_date_in_future',
  severity: 'blocks',
  title: 'The date of service is not in the future',
  source: 'X12 005010X222A1 (837P), loop 2400, DTP*472; CMS Medicare Claims Processing Manual, chapter 1',
  reads: ['encounter.date_of_service'],
  check({ encounter }) {
    const date = textOf(encounter, 'date_of_service');
    if (date === undefined) return [];
    const text = 'The date of service is in the future: nothing can be billed before then.';
    return [{ record: encounter, field: 'date_of_service', text, until: instantOf(date) }];
  },
};

const serviceDateMissing: Rule = {
  code: 'service_date_missing',
  severity: 'blocks',
  title: 'The encounter has a date of service',
  source: 'X12 005010X222A1 (837P), loop 2400, DTP*472',
  reads: ['encounter.date_of_service'],
  check: ({ encounter }) => missing(encounter, ['date_of_service'], 'A claim needs the date of service.'),
};

/** Rules about the date of service, in the order in which a claim is filled in. */
export const dateRules: readonly Rule[] = [
  serviceDateMissing,
  serviceDateInFuture,
  serviceBeforeBirth,
  timelyFiling,
  filingLimitNear,
];
