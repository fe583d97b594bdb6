import { addressDecisions } from '../schema/deidentification.ts';
import { digits, foundBy, identifier, oneOf, requiredName, text } from '../schema/fields.ts';
import { defineKind } from '../schema/kind.ts';
import {
  addressChecks,
  cliaNumber,
  ein,
  email,
  notBlank,
  notSent,
  notSsn,
  npi,
  phone,
} from '../schema/validation.ts';

/** Spec section 2.5. */
export const facility = defineKind({
  kind: 'facility',
  plural: 'facilities',
  title: 'Facility',
  description: 'A place where care is given.',
  eventType: 'FacilityUpserted',
  fields: {
    id: identifier("The caller's facility identifier", 'facility-3001'),
    name: requiredName('Elm Street Clinic'),
    npi: foundBy(
      'number',
      digits(
        10,
        '1093817462',
        '10 digits; organizational (Type 2) NPI, distinct from individual provider NPIs',
      ),
    ),
    facility_type: oneOf([
      'hospital',
      'clinic',
      'ambulatory_surgery_center',
      'skilled_nursing_facility',
      'laboratory',
      'pharmacy',
      'home_health',
      'telehealth',
      'other',
    ]),
    phone: text('+1 402 555 0120'),
    fax: text('+1 402 555 0121'),
    email: text('office@clinic.example'),
    tax_id: text('12-3456789', 'Federal tax ID (EIN); required for claim submission'),
    clia_number: text(
      '28D1234567',
      'CLIA certification number; required for facilities performing laboratory testing',
    ),
    address_line_1: text('500 Clinic Road'),
    address_line_2: text('Suite 100'),
    city: text('Omaha'),
    state: text('NE', 'State code'),
    zip_code: text('68102'),
    country: text('US', 'Country code; default `US`'),
  },
  defaults: { country: { value: 'US' } },
  deidentified: {
    id: 'hashed',
    name: 'left out',
    npi: 'left out',
    facility_type: 'shown',
    phone: 'left out',
    fax: 'left out',
    email: 'left out',
    tax_id: 'left out',
    clia_number: 'left out',
    ...addressDecisions,
  },
  checks: {
    id: notSsn,
    name: notBlank,
    npi,
    phone,
    fax: phone,
    email,
    tax_id: ein,
    clia_number: cliaNumber,
    ...addressChecks,
  },
  doubts: (sent) =>
    sent.facility_type === 'laboratory' && typeof sent.clia_number !== 'string'
      ? [notSent('clia_number', 'the facility is a laboratory')]
      : [],
});
