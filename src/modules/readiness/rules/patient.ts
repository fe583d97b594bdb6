import { momentOf } from './days.ts';
import { missing, type Rule, textOf } from './rule.ts';

const birthDate: Rule = {
  code: 'birth_date',
  version: 2,
  severity: 'blocks',
  title: 'The patient was not born before 1900, or in the future',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02',
  reads: ['patient.date_of_birth'],
  check({ patient }, settings) {
    const [record, field] = [patient, 'date_of_birth'];
    const born = textOf(record, field);
    if (record === undefined || born === undefined) return [];
    if (born < '1900') return [{ record, field, text: 'Nobody who was born then has a visit today.' }];
    return [{ record, field, text: 'The patient is not born yet.', until: momentOf(born, settings) }];
  },
};

const genderMissing: Rule = {
  code: 'gender_missing',
  severity: 'warns',
  title: 'The gender of the patient is known',
  source: 'X12 005010X222A1 (837P), loops 2010BA and 2010CA, DMG03',
  reads: ['patient.gender'],
  check: ({ patient }) =>
    missing(patient, ['gender'], 'A claim states the gender, and some payers refuse an unknown one.'),
};

/** Rules about the patient, in the order in which a claim is filled in. */
export const patientRules: readonly Rule[] = [birthDate, genderMissing];
