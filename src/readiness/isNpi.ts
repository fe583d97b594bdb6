import { npi } from '../records/fieldChecks.ts';

/** Whether a text can be an NPI: ten digits, the first a 1 or 2 (45 CFR 162.406), with a right check digit. */
export function isNpi(value: string): boolean {
  return /^[12]\d{9}$/.test(value) && npi(value, {}) === undefined;
}
