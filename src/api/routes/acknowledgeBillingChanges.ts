import { z } from 'zod';
import { validate } from '../../domain/records/schema/validate.ts';
import { acknowledgeChanges } from '../../modules/readiness/acknowledgeChanges.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { readJson } from '../server/readJson.ts';
import {
  billingEndpoint,
  billingOnce,
  billingWrittenSchema,
  exampleWritten,
  wantedVersion,
} from './billingSchemas.ts';
import type { RecordWritePorts } from './writeOnce.ts';

const MAX_REASON = 1_000;

/** The body of an acknowledgement. */
export const acknowledgementSchema = z
  .object({
    reason: z
      .string()
      .trim()
      .min(1)
      .max(MAX_REASON)
      .meta({
        description: 'Why no new claim is sent',
        examples: ['The payer has accepted the claim as it was'],
      }),
    version: wantedVersion,
  })
  .meta({
    id: 'BillingAcknowledgement',
    description: 'Acknowledges that changes made after billing need no new claim.',
  });

/** `POST /integration/encounters/{id}/billed/acknowledge`. */
export const acknowledgeBillingChanges = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed/acknowledge',
  operationId: 'acknowledgeBillingChanges',
  summary: 'Acknowledge changes made after an encounter was billed',
  description:
    'Closes the current `changed_after_billing` findings of the encounter, with a reason. Later changes ' +
    'are findings again. If nothing that a claim contains has changed, nothing is recorded.',
  body: {
    required: true,
    content: {
      'application/json': {
        schema: acknowledgementSchema,
        example: { reason: 'The payer has accepted the claim as it was' },
      },
    },
  },
  answers: {
    200: {
      description: 'It is durably recorded.',
      schema: billingWrittenSchema,
      example: { ...exampleWritten, message: 'Changes acknowledged', outcome: 'updated' },
    },
  },
  errors: [
    'InvalidBilling',
    'RecordNotFound',
    'Erased',
    'NotBilled',
    'VersionConflict',
    'BodyTooLarge',
    'NotJson',
  ],
  handler: (ports: RecordWritePorts) => async (exchange) => {
    const input = await readJson(exchange);
    const acknowledgement = validate(acknowledgementSchema, input);
    return billingOnce(ports, exchange, input, 'Changes acknowledged', (caller, id) =>
      acknowledgeChanges(ports, caller, id, acknowledgement),
    );
  },
});
