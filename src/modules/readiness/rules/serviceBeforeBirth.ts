import { dayOf, textOf } from './faults.ts';
import type { Rule } from './rule.ts';

export const serviceBeforeBirth: Rule = {
  code: 'service_before_birth',
  severity: 'blocks',
  title: 'The date of service is not before the date of birth of the patient',
  source: 'X12 005010X222A1 (837P), loop 2010BA, DMG02 and loop 2400, DTP*472',
  reads: ['encounter.date_of_service', 'patient.date_of_birth'],
  check({ encounter, patient }) {
    const [service, birth] = [textOf(encounter, 'date_of_service'), textOf(patient, 'date_of_birth')];
    if (service === undefined || birth === undefined || dayOf(service) >= dayOf(birth)) return [];
    const text = 'The date of service is before the date of birth of the patient: one of the two is wrong.';
    return [{ record: encounter, field: 'date_of_service', text }];
  },
};
