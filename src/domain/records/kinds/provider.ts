import { z } from 'zod';
import { addressDecisions, type Rule } from '../schema/deidentification.ts';
import { digits, foundBy, identifier, oneOf, requiredName, text } from '../schema/fields.ts';
import { defineKind } from '../schema/kind.ts';
import {
  addressChecks,
  ein,
  email,
  notBlank,
  notSsn,
  npi,
  phone,
  taxonomyCode,
} from '../schema/validation.ts';

/** The rest of the code, the area of specialization, may identify a provider where few share it. */
const taxonomyClass: Rule = {
  schema: z
    .string()
    .regex(/^[0-9A-Z]{4}$/)
    .meta({ description: 'NUCC classification: the first four characters of the code', examples: ['207Q'] }),
  show: (value) => /^([0-9A-Z]{4})[0-9A-Z]{5}X$/.exec(String(value))?.[1],
};

/** Spec section 2.4. */
export const provider = defineKind({
  kind: 'provider',
  plural: 'providers',
  title: 'Provider',
  description: 'A person who gives care.',
  eventType: 'ProviderUpserted',
  fields: {
    id: identifier("The caller's provider identifier", 'provider-2001'),
    first_name: requiredName('Ada'),
    last_name: requiredName('Nguyen'),
    npi: foundBy(
      'number',
      digits(10, '1234567893', '10 digits; required for claim submission, send it when available'),
    ),
    email: foundBy('contact', text('ada.nguyen@clinic.example')),
    phone: foundBy('contact', text('+1 402 555 0110')),
    role: oneOf([
      'attending_physician',
      'rendering_provider',
      'referring_provider',
      'billing_provider',
      'operating_physician',
    ]),
    tax_id: text(
      '12-3456789',
      'Federal tax ID (EIN); required if claims are billed by the provider, not the facility',
    ),
    taxonomy_code: text('207Q00000X', 'Code from the NUCC healthcare provider taxonomy set'),
    specialty: text('Family Medicine', 'Free text'),
    address_line_1: text('500 Clinic Road'),
    address_line_2: text('Suite 200'),
    city: text('Omaha'),
    state: text('NE', 'State code'),
    zip_code: text('68102'),
    country: text('US', 'Country code; default `US`'),
  },
  defaults: { country: { value: 'US' } },
  deidentified: {
    id: 'hashed',
    first_name: 'left out',
    last_name: 'left out',
    npi: 'left out',
    email: 'left out',
    phone: 'left out',
    role: 'shown',
    tax_id: 'left out',
    taxonomy_code: taxonomyClass,
    specialty: 'left out',
    ...addressDecisions,
  },
  usedInClaim: {
    id: false,
    first_name: true,
    last_name: true,
    npi: true,
    email: false,
    phone: false,
    role: true,
    tax_id: true,
    taxonomy_code: true,
    specialty: false,
    address_line_1: true,
    address_line_2: true,
    city: true,
    state: true,
    zip_code: true,
    country: true,
  },
  checks: {
    id: notSsn,
    first_name: notBlank,
    last_name: notBlank,
    npi,
    email,
    phone,
    tax_id: ein,
    taxonomy_code: taxonomyCode,
    ...addressChecks,
  },
});
