import { z } from 'zod';
import { validate } from '../../domain/records/schema/validate.ts';
import { keyInUse } from '../../modules/idempotency/idempotencyRefusals.ts';
import { notBilled } from '../../modules/readiness/acknowledgeChanges.ts';
import { billedThoughVoid } from '../../modules/readiness/recordBilled.ts';
import { malformedBody } from '../server/readJson.ts';
import { refusalOf } from './refusalOf.ts';

/** The ways in which a report on an encounter in billing can be refused. */
export const billingResponses = {
  InvalidBilling: {
    description: 'The body is not valid; nothing was recorded.',
    errors: {
      validation_failed: refusalOf(() => validate(z.object({ claim_id: z.string() }), {})),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  VoidEncounter: {
    description:
      'The encounter is void, or the first request with this `Idempotency-Key` is still in progress.',
    errors: {
      conflict: billedThoughVoid(),
      idempotency_key_in_use: keyInUse(),
    },
  },
  NotBilled: {
    description:
      'The encounter has not been billed, or the first request with this `Idempotency-Key` is still in ' +
      'progress.',
    errors: {
      conflict: notBilled(),
      idempotency_key_in_use: keyInUse(),
    },
  },
};
