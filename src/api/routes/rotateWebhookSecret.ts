import { rotateSecretSchema } from '../../modules/webhooks/webhookSettings.ts';
import { endpoint } from '../schemas/endpoint.ts';
import type { Exchange } from '../server/exchange.ts';
import { readJson } from '../server/readJson.ts';
import {
  bodyErrors,
  changeOnce,
  jsonBody,
  type WebhookRoutePorts,
  webhookId,
  webhookMember,
  webhookMemberEndpoint,
} from './webhookAddress.ts';
import { secretExample, webhookExample, webhookWithSecretSchema } from './webhookSchemas.ts';

/** Resolves with the JSON body of a request that may also have none. */
async function readOptionalJson(exchange: Exchange): Promise<unknown> {
  const { req } = exchange;
  const isEmpty = req.headers['transfer-encoding'] === undefined && !Number(req.headers['content-length']);
  return isEmpty ? {} : readJson(exchange);
}

/** `POST /integration/webhooks/{id}/secret/rotate`. */
export const rotateWebhookSecret = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/secret/rotate`,
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate the secret of a webhook',
  description:
    'The response contains the new secret, only this once. During the overlap, messages are also signed ' +
    'with the previous secret, so that receivers can be updated one after another.',
  takesIdempotencyKey: true,
  body: jsonBody(
    rotateSecretSchema,
    {
      day: { summary: 'Both secrets are valid for a day', value: { overlap_seconds: 86_400 } },
      leaked: { summary: 'The previous one leaked', value: { overlap_seconds: 0 } },
    },
    false,
  ),
  answers: {
    200: {
      description: 'The webhook, and its new secret.',
      schema: webhookWithSecretSchema,
      example: {
        ...webhookExample,
        previous_secret_expires_at: '2026-03-15T16:05:12.480Z',
        updated_at: '2026-03-14T16:05:12.480Z',
        secret: secretExample,
      },
    },
  },
  errors: [...bodyErrors, 'WebhookNotFound'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    const input = await readOptionalJson(exchange);
    const { webhook, secret } = await changeOnce(ports, exchange, input, (caller) =>
      ports.webhooks.rotateSecret(caller, webhookId(exchange), input),
    );
    return { body: { ...webhook, secret } };
  },
});
