import { z } from 'zod';
import { digits, identifier, oneOf, requiredName, text } from '../fields.ts';

/** Spec section 2.4. */
export const providerSchema = z.object({
  id: identifier("The caller's provider identifier", 'provider-2001'),
  first_name: requiredName('Ada'),
  last_name: requiredName('Nguyen'),
  npi: digits(10, '1234567893', '10 digits; needed for claim submission, give it when available'),
  email: text('ada.nguyen@clinic.example'),
  phone: text('+1 402 555 0110'),
  role: oneOf([
    'attending_physician',
    'rendering_provider',
    'referring_provider',
    'billing_provider',
    'operating_physician',
  ]),
  taxonomy_code: text('207Q00000X', 'Code from the NUCC healthcare provider taxonomy set'),
  specialty: text('Family Medicine', 'Free text'),
  address_line_1: text('500 Clinic Road'),
  address_line_2: text('Suite 200'),
  city: text('Omaha'),
  state: text('NE', 'State code'),
  zip_code: text('68102'),
  country: text('US', 'Country code; default `US`'),
});
