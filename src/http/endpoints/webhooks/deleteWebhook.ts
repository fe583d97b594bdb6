import { endpoint } from '../../endpoint/endpoint.ts';
import {
  doneAnswer,
  type WebhookRoutePorts,
  webhookMember,
  webhookMemberEndpoint,
  webhookOf,
} from './webhookAddress.ts';

const done = { success: true, message: 'Webhook deleted' } as const;

/** `DELETE /integration/webhooks/{id}`. */
export const deleteWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'delete',
  path: webhookMember,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent. This cannot be undone.',
  answers: {
    200: doneAnswer(
      'The webhook is deleted.',
      { id: 'WebhookDeleted', description: 'A webhook was deleted.' },
      done,
    ),
  },
  errors: ['WebhookNotFound'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      await webhooks.delete(...webhookOf(exchange));
      return { body: done };
    },
});
