import { MAX_WEBHOOKS } from '../../modules/webhooks/webhookRefusals.ts';
import { createWebhookSchema } from '../../modules/webhooks/webhookSettings.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { readJson } from '../server/readJson.ts';
import {
  bodyErrors,
  changeOnce,
  jsonBody,
  type WebhookRoutePorts,
  webhookCollection,
  webhookEndpoint,
} from './webhookAddress.ts';
import { secretExample, webhookExample, webhookWithSecretSchema } from './webhookSchemas.ts';

/** `POST /integration/webhooks`. */
export const createWebhook = endpoint({
  ...webhookEndpoint,
  method: 'post',
  path: webhookCollection,
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Sends events to a URL, from now on or from any point in the history. The response contains the ' +
    'secret that signs the messages, only this once. `recipient`, `recipient_address`, `purpose` and ' +
    '`purpose_statement` state who receives the messages and why: disclosure reports show the values that ' +
    'applied when a message was sent. The payload `full` also requires the permission `events`, and ' +
    '`deidentified` requires `events` or `events:deidentified`; so does every later operation on such a ' +
    `webhook. A workspace can have at most ${MAX_WEBHOOKS} webhooks.`,
  takesIdempotencyKey: true,
  body: jsonBody(createWebhookSchema, {
    minimal: { summary: 'Every event from now on', value: { url: webhookExample.url } },
    complete: {
      summary: 'Some kinds, starting with the first event',
      value: {
        url: webhookExample.url,
        description: webhookExample.description,
        kinds: webhookExample.kinds,
        payload: 'reference',
        recipient: webhookExample.recipient,
        recipient_address: webhookExample.recipient_address,
        purpose: webhookExample.purpose,
        start: 'beginning',
      },
    },
  }),
  answers: {
    200: {
      description: 'The webhook, and its secret.',
      schema: webhookWithSecretSchema,
      example: {
        ...webhookExample,
        secret: secretExample,
      },
    },
  },
  errors: [...bodyErrors, 'TooManyWebhooks'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    const input = await readJson(exchange);
    const { webhook, secret } = await changeOnce(ports, exchange, input, (caller) =>
      ports.webhooks.create(caller, input),
    );
    return { body: { ...webhook, secret } };
  },
});
