import { endpoint } from '../../endpoint/endpoint.ts';
import {
  doneAnswer,
  type WebhookRoutePorts,
  webhookMember,
  webhookMemberEndpoint,
  webhookOf,
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
  answers: {
    200: doneAnswer(
      'The waiting messages are tried.',
      { id: 'WebhookRetryRequested', description: 'What waits is tried now.' },
      done,
    ),
  },
  errors: ['WebhookNotFound', 'WebhookDisabled'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      await webhooks.retry(...webhookOf(exchange));
      return { body: done };
    },
});
