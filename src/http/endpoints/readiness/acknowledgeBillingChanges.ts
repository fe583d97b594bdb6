import { z } from 'zod';
import { acknowledgeChanges } from '../../../commands/billing/acknowledgeChanges.ts';
import { validate } from '../../../records/validate.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { readJson } from '../../server/readJson.ts';
import type { RecordWritePorts } from '../records/writeOnce.ts';
import {
  billingEndpoint,
  billingOnce,
  billingWrittenSchema,
  exampleWritten,
  wantedVersion,
} from './billingSchemas.ts';

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
        description: 'Why no other claim is sent',
        examples: ['The payer has accepted the claim as it was'],
      }),
    version: wantedVersion,
  })
  .meta({
    id: 'BillingAcknowledgement',
    description: 'That what was changed after billing may stay as it is.',
  });

/** `POST /integration/encounters/{id}/billed/acknowledge`. */
export const acknowledgeBillingChanges = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed/acknowledge',
  operationId: 'acknowledgeBillingChanges',
  summary: 'Acknowledge what was changed after an encounter was billed',
  description:
    'Ends the findings `changed_after_billing` of the encounter as it is now, with a reason. What changes later is a finding again. ' +
    'Where nothing that a claim carries has changed, nothing is recorded.',
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
      description: 'It is recorded, durably.',
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
