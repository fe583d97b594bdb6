import type { WebhookStatusView } from '../../modules/webhooks/webhookView.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { type WebhookRoutePorts, webhookMember, webhookMemberEndpoint, webhookOf } from './webhookAddress.ts';
import { statusExample, webhookStatusSchema } from './webhookSchemas.ts';

/** `GET /integration/webhooks/{id}`. */
export const readWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'get',
  path: webhookMember,
  operationId: 'getWebhook',
  summary: 'Read a webhook',
  description: 'The webhook, with its delivery status.',
  answers: { 200: { description: 'The webhook.', schema: webhookStatusSchema, example: statusExample } },
  errors: ['WebhookNotFound'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      const webhook = await webhooks.find(...webhookOf(exchange));
      const [view] = await webhooks.views([webhook]);
      return { body: view as WebhookStatusView };
    },
});
