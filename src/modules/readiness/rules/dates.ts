import { startOfDayIn } from '../../../domain/records/schema/timeZones.ts';
import { momentOf, serviceDay } from './days.ts';
import { filingOf, filingTo } from './filing.ts';
import { lastDayOf } from './filingLimits.ts';
import { type BillingFacts, dayOf, missing, type Rule, type RuleSettings, textOf } from './rule.ts';

/** What a filing limit depends on. */
const filed = ['encounter.date_of_service', 'patient.primary_insurance.payer_id', 'payer.payer_type'];

/** The part of an answer that has the last day. */
const FILING = 'filing';

export const timelyFiling: Rule = {
  code: 'timely_filing',
  version: 2,
  severity: 'blocks',
  owner: 'billing',
  title: 'The encounter was billed in time, or the filing limit of the payer has not passed',
  source:
    '42 CFR 424.44 (Medicare); 32 CFR 199.7(d) (TRICARE); 42 CFR 447.45(d) (Medicaid); contracts with other payers',
  reads: filed,
  check(facts, settings) {
    const filing = filingOf(facts, settings);
    if (filing === undefined) return [];
    const text =
      'The last day on which the payer takes a claim has passed: send it with proof of an earlier filing or of a reason for the delay, or write it off.';
    return [{ record: facts.encounter, field: FILING, text, from: filing.end }];
  },
};

const TWO_WEEKS = 14;

export const filingLimitNear: Rule = {
  code: 'filing_limit_near',
  version: 2,
  severity: 'warns',
  owner: 'billing',
  title: 'The encounter was billed, or the filing limit of the payer is more than two weeks away',
  source: timelyFiling.source,
  reads: timelyFiling.reads,
  check(facts, settings) {
    const filing = filingOf(facts, settings);
    if (filing === undefined) return [];
    const text = 'In less than two weeks, the payer no longer takes a claim: bill the encounter before then.';
    const from = startOfDayIn(filing.lastDay, settings.timeZone, 1 - TWO_WEEKS);
    return [{ record: facts.encounter, field: FILING, text, from, until: filing.end }];
  },
};

/** The longest limit that payers usually have. */
const A_YEAR = 'P1Y';

const filingLimitUnknown: Rule = {
  code: 'filing_limit_unknown',
  severity: 'warns',
  owner: 'billing',
  title: 'The encounter was billed, or took place within a year, where no filing limit of the payer is known',
  source: timelyFiling.source,
  reads: filed,
  check(facts, settings) {
    const service = serviceDay(facts.encounter, settings);
    const { payerId, limit } = filingTo(facts, settings) ?? {};
    if (service === undefined || payerId === undefined || limit !== undefined) return [];
    if (facts.firstBilled?.has(payerId)) return [];
    const text = 'Few payers take a claim after a year: set the filing limit of this one.';
    const from = startOfDayIn(lastDayOf(service, A_YEAR), settings.timeZone, 1);
    return [{ record: facts.encounter, field: 'date_of_service', text, from }];
  },
};

const filingRules = [timelyFiling, filingLimitNear, filingLimitUnknown];

/** Whether a filing limit is a finding at a moment, in milliseconds since 1970, unless the encounter was billed. */
export function isFilingDue(facts: BillingFacts, settings: RuleSettings, at: number): boolean {
  return filingRules.some((rule) => rule.check(facts, settings).some(({ from = at }) => from <= at));
}

const serviceBeforeBirth: Rule = {
  code: 'service_before_birth',
  version: 3,
  severity: 'blocks',
  title: 'The date of service is not before the date of birth of the patient',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02 and loop 2400, DTP*472',
  reads: ['encounter.date_of_service', 'patient.date_of_birth'],
  check({ encounter, patient }, settings) {
    const [service, birth] = [serviceDay(encounter, settings), textOf(patient, 'date_of_birth')];
    if (service === undefined || birth === undefined || service >= dayOf(birth)) return [];
    const text = 'The date of service is before the date of birth of the patient: one of the two is wrong.';
    return [
      { record: encounter, field: 'date_of_service', text },
      ...(patient === undefined ? [] : [{ record: patient, field: 'date_of_birth', text }]),
    ];
  },
};

const serviceDateInFuture: Rule = {
  code: 'service_date_in_future',
  version: 2,
  severity: 'blocks',
  title: 'The date of service is not in the future',
  source: 'X12 005010X222A1 (837P), loop 2400, DTP*472; CMS Medicare Claims Processing Manual, chapter 1',
  reads: ['encounter.date_of_service'],
  check({ encounter }, settings) {
    const date = textOf(encounter, 'date_of_service');
    if (date === undefined) return [];
    const text = 'The date of service is in the future: nothing can be billed before then.';
    return [{ record: encounter, field: 'date_of_service', text, until: momentOf(date, settings) }];
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
  ...filingRules,
];
