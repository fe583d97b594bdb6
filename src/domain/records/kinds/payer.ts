import { z } from 'zod';
import { listed, placeDecisions } from '../schema/deidentification.ts';
import { foundBy, identifier, requiredName, text } from '../schema/fields.ts';
import { defineKind } from '../schema/kind.ts';
import { addressChecks, email, notBlank, notSsn, phone, website } from '../schema/validation.ts';

/** Spec section 2.3. */
export const payer = defineKind({
  kind: 'payer',
  plural: 'payers',
  title: 'Payer',
  description: 'An insurance company or program that pays claims.',
  eventType: 'PayerUpserted',
  fields: {
    id: identifier("The caller's payer identifier", 'payer-aetna'),
    name: requiredName('Aetna'),
    payer_code: foundBy(
      'number',
      text('60054', 'Short code; used for internal identification and clearinghouse routing'),
    ),
    payer_type: text(
      'Private',
      'Free text; common values: `Private`, `Medicare`, `Medicaid`, `Tricare`, `Workers Compensation`, `Self-Pay`',
    ),
    contact_email: foundBy('contact', text('claims@payer.example', 'Claims contact email')),
    contact_phone: foundBy('contact', text('+1 800 555 0199')),
    fax: text('+1 800 555 0198'),
    website: text('https://payer.example', 'URL'),
    address_line1: text('151 Farmington Avenue'),
    address_line2: text('Floor 2'),
    city: text('Hartford'),
    state: text('CT', 'State code'),
    zip_code: text('06156'),
    country: text('US', 'Country code; default `US`'),
  },
  defaults: { country: { value: 'US' } },
  deidentified: {
    id: 'hashed',
    name: 'left out',
    payer_code: 'left out',
    // The spec's common values of a free-text field.
    payer_type: listed(
      z.enum(['Private', 'Medicare', 'Medicaid', 'Tricare', 'Workers Compensation', 'Self-Pay']),
    ),
    contact_email: 'left out',
    contact_phone: 'left out',
    fax: 'left out',
    website: 'left out',
    address_line1: 'left out',
    address_line2: 'left out',
    ...placeDecisions,
  },
  usedInClaim: {
    id: false,
    name: true,
    payer_code: true,
    payer_type: true,
    contact_email: false,
    contact_phone: false,
    fax: false,
    website: false,
    address_line1: true,
    address_line2: true,
    city: true,
    state: true,
    zip_code: true,
    country: true,
  },
  checks: {
    id: notSsn,
    name: notBlank,
    contact_email: email,
    contact_phone: phone,
    fax: phone,
    website,
    ...addressChecks,
  },
});
