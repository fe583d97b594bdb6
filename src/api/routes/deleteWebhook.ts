import { endpoint } from '../schemas/endpoint.ts';
import {
  changeOnce,
  doneAnswer,
  type WebhookRoutePorts,
  webhookId,
  webhookMember,
  webhookMemberEndpoint,
} from './webhookAddress.ts';

const done = { success: true, message: 'Webhook deleted' } as const;

/** `DELETE /integration/webhooks/{id}`. */
export const deleteWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'delete',
  path: webhookMember,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Stops all deliveries. This cannot be undone.',
  takesIdempotencyKey: true,
  answers: {
    200: doneAnswer(
      'The webhook is deleted.',
      { id: 'WebhookDeleted', description: 'A webhook was deleted.' },
      done,
    ),
  },
  errors: ['WebhookNotFound'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    await changeOnce(ports, exchange, undefined, (caller) =>
      ports.webhooks.delete(caller, webhookId(exchange)),
    );
    return { body: done };
  },
});
