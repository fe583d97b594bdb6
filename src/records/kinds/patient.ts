import { z } from 'zod';
import {
  date,
  digits,
  exactly,
  identifier,
  name,
  oneOf,
  requiredDate,
  requiredName,
  text,
} from '../fields.ts';

/** Spec section 2.2: an insurance object, nested in a patient. */
export const insuranceSchema = z
  .object({
    payer_id: identifier('`id` of an existing payer', 'payer-aetna'),
    policy_number: text('W123456789'),
    group_number: text('0098765'),
    effective_date: date('2026-01-01', 'Coverage start'),
    termination_date: date('2026-12-31', 'Coverage end'),
    subscriber_id: text('SUB-1001', 'Used when the subscriber differs from the patient'),
    subscriber_first_name: name('Maria'),
    subscriber_last_name: name('Lopez'),
    subscriber_relationship: oneOf(['self', 'spouse', 'child', 'other']),
    subscriber_date_of_birth: date('1984-02-29'),
    subscriber_address_line_1: text('12 Elm Street'),
    subscriber_city: text('Omaha'),
    subscriber_state: text('NE'),
    subscriber_zip_code: text('68102'),
    subscriber_country: text('US'),
  })
  .meta({
    id: 'Insurance',
    description: 'An insurance of a patient. Sent, it replaces the one of its rank whole.',
  });

/** The ranks of a patient's insurances, as the fields that hold them. */
export const insuranceFields = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

const insurance = insuranceSchema.nullable().optional();

/** Spec section 2.1. */
export const patientSchema = z.object({
  id: identifier("The caller's patient identifier", 'patient-1001'),
  first_name: requiredName('Maria'),
  last_name: requiredName('Lopez'),
  date_of_birth: requiredDate('1984-02-29'),
  gender: oneOf(['male', 'female', 'other']).meta({ examples: ['female'] }),
  phone: text('+1 402 555 0100'),
  email: text('maria.lopez@example.com'),
  ssn_last4: digits(4, '1234', 'Last 4 digits only; a full SSN is never stored'),
  address_line_1: text('12 Elm Street'),
  address_line_2: text('Apt 3'),
  city: text('Omaha'),
  state: exactly(2, 'NE', '2-character state code'),
  zip_code: text('68102'),
  country: text('US', 'Country code; default `US`'),
  primary_insurance: insurance,
  secondary_insurance: insurance,
  tertiary_insurance: insurance,
});
