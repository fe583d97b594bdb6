import { endpoint } from '../../endpoint/endpoint.ts';
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
    'All messages that wait for another try are tried at once, such as after an outage of the endpoint. A try that ' +
    'fails changes nothing of when the next one is due. What was given up is sent again by a replay.',
  takesIdempotencyKey: true,
  answers: {
    200: doneAnswer(
      'The waiting messages are tried.',
      { id: 'WebhookRetryRequested', description: 'What waits is tried now.' },
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
