import { endpoint } from '../../endpoint/endpoint.ts';
import {
  doneSchema,
  type WebhookRoutePorts,
  webhookCallerOf,
  webhookEndpoint,
  webhookId,
  webhookMember,
  webhookParams,
} from './webhookAddress.ts';

const done = { success: true, message: 'Webhook deleted' } as const;

/** `DELETE /integration/webhooks/{id}`. */
export const deleteWebhook = endpoint({
  ...webhookEndpoint,
  method: 'delete',
  path: webhookMember,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent. This cannot be undone.',
  params: webhookParams,
  answers: {
    200: {
      description: 'The webhook is deleted.',
      schema: doneSchema('WebhookDeleted', 'A webhook was deleted.'),
      example: done,
    },
  },
  errors: ['WebhookNotFound'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      await webhooks.delete(webhookCallerOf(exchange), webhookId(exchange));
      return { body: done };
    },
});
