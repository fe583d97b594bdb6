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

const done = { success: true, message: 'Retry requested' } as const;

/** `POST /integration/webhooks/{id}/retry`. */
export const retryWebhook = endpoint({
  ...webhookEndpoint,
  method: 'post',
  path: `${webhookMember}/retry`,
  operationId: 'retryWebhook',
  summary: 'Retry waiting messages now',
  description:
    'All messages that wait for another try are tried at once, such as after an outage of the endpoint. A try that ' +
    'fails changes nothing of when the next one is due. What was given up is sent again by a replay.',
  params: webhookParams,
  answers: {
    200: {
      description: 'The waiting messages are tried.',
      schema: doneSchema('WebhookRetryRequested', 'What waits is tried now.'),
      example: done,
    },
  },
  errors: ['WebhookNotFound', 'WebhookDisabled'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      await webhooks.retry(webhookCallerOf(exchange), webhookId(exchange));
      return { body: done };
    },
});
