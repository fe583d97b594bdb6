import { validationError } from '../../domain/records/schema/validate.ts';
import { keyInUse } from '../../modules/idempotency/idempotencyRefusals.ts';
import { createAddressRules } from '../../modules/webhooks/addressRules.ts';
import { checkUrl } from '../../modules/webhooks/checkUrl.ts';
import { tooManyWebhooks, webhookDisabled } from '../../modules/webhooks/webhookRefusals.ts';
import { notFound } from '../../platform/errors.ts';
import { malformedBody } from '../server/readJson.ts';
import type { ErrorResponse } from './errorResponses.ts';

/** The ways in which operations on webhooks can fail. */
export const webhookResponses = {
  InvalidWebhook: {
    description: 'The body or the path is not valid; nothing was changed.',
    errors: {
      validation_failed: invalidUrl(),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  WebhookNotFound: {
    description: 'The workspace has no webhook with this id.',
    errors: { not_found: notFound('Webhook') },
  },
  WebhookDisabled: {
    description:
      'The webhook is disabled, or the first request with this `Idempotency-Key` is still in progress.',
    errors: {
      conflict: webhookDisabled(),
      idempotency_key_in_use: keyInUse(),
    },
    headers: ['Retry-After'],
  },
  TooManyWebhooks: {
    description:
      'The workspace has reached its maximum number of webhooks, or the first request with this ' +
      '`Idempotency-Key` is still in progress.',
    errors: { conflict: tooManyWebhooks(), idempotency_key_in_use: keyInUse() },
    headers: ['Retry-After'],
  },
} satisfies Record<string, ErrorResponse>;

function invalidUrl() {
  const message = checkUrl('http://example.com', createAddressRules([])) as string;
  return validationError([{ field: 'url', message }]);
}
