import { dayOf, textOf } from './faults.ts';
import type { Fault, Rule } from './rule.ts';

const START = 'primary_insurance.effective_date';
const END = 'primary_insurance.termination_date';

export const coverageNotInForce: Rule = {
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
