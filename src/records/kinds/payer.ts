import { z } from 'zod';
import { identifier, requiredName, text } from '../fields.ts';

/** Spec section 2.3. */
export const payerSchema = z.object({
  id: identifier("The caller's payer identifier", 'payer-aetna'),
  name: requiredName('Aetna'),
  payer_code: text('60054', 'Short code; used for internal identification and clearinghouse routing'),
  payer_type: text(
    'Private',
    'Free text; common values: `Private`, `Medicare`, `Medicaid`, `Tricare`, `Workers Compensation`, `Self-Pay`',
  ),
  contact_email: text('claims@payer.example', 'Claims contact email'),
  contact_phone: text('+1 800 555 0199'),
  fax: text('+1 800 555 0198'),
  website: text('https://payer.example', 'URL'),
  address_line1: text('151 Farmington Avenue'),
  address_line2: text('Floor 2'),
  city: text('Hartford'),
  state: text('CT', 'State code'),
  zip_code: text('06156'),
  country: text('US', 'Country code; default `US`'),
});
