import { endpoint } from '../schemas/endpoint.ts';
import {
  changeOnce,
  doneAnswer,
  type WebhookRoutePorts,
  webhookId,
  webhookMember,
  webhookMemberEndpoint,
} from './webhookAddress.ts';

const done = { success: true, message: 'Retry requested' } as const;

/** `POST /integration/webhooks/{id}/retry`. */
export const retryWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/retry`,
  operationId: 'retryWebhook',
  summary: 'Retry waiting messages now',
  description:
    'Immediately retries all messages that are waiting for a retry, for example after an outage of the ' +
    'endpoint. A failed attempt does not change when the next one is due. To send messages that were ' +
    'given up, use a replay.',
  takesIdempotencyKey: true,
  answers: {
    200: doneAnswer(
      'The waiting messages are retried.',
      { id: 'WebhookRetryRequested', description: 'Waiting messages are retried now.' },
      done,
    ),
  },
  errors: ['WebhookNotFound', 'WebhookDisabled'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    await changeOnce(ports, exchange, undefined, (caller) =>
      ports.webhooks.retry(caller, webhookId(exchange)),
    );
    return { body: done };
  },
});
