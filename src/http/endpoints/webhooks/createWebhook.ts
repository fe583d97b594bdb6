import { MAX_WEBHOOKS } from '../../../webhooks/settings/webhookRefusals.ts';
import { createWebhookSchema } from '../../../webhooks/settings/webhookSettings.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { readJson } from '../../server/readJson.ts';
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
    'Has events sent to a URL, from now on or from any point of the history. The answer holds the secret that signs ' +
    'the messages, this once. `recipient`, `recipient_address`, `purpose` and `purpose_statement` say to whom messages go ' +
    'and why: reports of disclosures tell what was said when a message went. The payload `full` needs the permission `events` too, and `deidentified` needs ' +
    '`events` or `events:deidentified`; so does everything that is done with such a webhook afterwards. A workspace ' +
    `has at most ${MAX_WEBHOOKS} webhooks.`,
  takesIdempotencyKey: true,
  body: jsonBody(createWebhookSchema, {
    minimal: { summary: 'Every event from now on', value: { url: webhookExample.url } },
    complete: {
      summary: 'Some kinds, from the first event on',
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
