import { updateWebhookSchema } from '../../modules/webhooks/webhookSettings.ts';
import { endpoint } from '../schemas/endpoint.ts';
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
import { webhookExample, webhookSchema } from './webhookSchemas.ts';

/** `PATCH /integration/webhooks/{id}`. */
export const updateWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'patch',
  path: webhookMember,
  operationId: 'updateWebhook',
  summary: 'Change, disable or enable a webhook',
  description:
    'A field that is left out keeps its value. Changes apply to all messages sent from then on, including ' +
    'retries. While a webhook is disabled, nothing is sent; when it is enabled again, it resumes where it ' +
    'stopped.',
  takesIdempotencyKey: true,
  body: jsonBody(updateWebhookSchema, {
    enable: { summary: 'Enable it', value: { state: 'enabled' } },
    filters: { summary: 'Other kinds', value: { kinds: ['payer'], description: null } },
  }),
  answers: { 200: { description: 'The webhook.', schema: webhookSchema, example: webhookExample } },
  errors: [...bodyErrors, 'WebhookNotFound'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    const input = await readJson(exchange);
    const webhook = await changeOnce(ports, exchange, input, (caller) =>
      ports.webhooks.update(caller, webhookId(exchange), input),
    );
    return { body: webhook };
  },
});
