import { z } from 'zod';
import { date, flag, identifier, oneOf, reference, text } from '../fields.ts';

/** Spec section 2.6. */
export const encounterSchema = z.object({
  id: identifier("The caller's encounter identifier", 'encounter-4001'),
  patient_id: identifier('Must refer to an existing patient', 'patient-1001'),
  provider_id: reference('Billing/attending provider', 'provider-2001'),
  rendering_provider_id: reference(
    'Rendering provider if different; when omitted, `provider_id` is taken as the rendering provider',
    'provider-2001',
  ),
  facility_id: reference('Where the service was rendered', 'facility-3001'),
  date_of_service: date('2026-03-14T09:30:00Z'),
  visit_type: oneOf([
    'office_visit',
    'telehealth',
    'inpatient',
    'outpatient',
    'emergency',
    'observation',
    'surgical',
  ]),
  status: text('checked_in', 'Free string'),
  is_completed: flag('`true` marks the encounter ready for the billing workflow'),
});
