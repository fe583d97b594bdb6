import { pageOf } from '../schemas/answerSchemas.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { attemptFilter, attemptsQuerySchema, pageRequest } from '../schemas/parameters.ts';
import { type WebhookRoutePorts, webhookMember, webhookMemberEndpoint, webhookOf } from './webhookAddress.ts';
import { attemptExample, attemptSchema } from './webhookSchemas.ts';

const pageSchema = pageOf(attemptSchema).meta({
  id: 'WebhookAttemptPage',
  description: 'A page of attempts, newest first.',
});

/** `GET /integration/webhooks/{id}/attempts`. */
export const listWebhookAttempts = endpoint({
  ...webhookMemberEndpoint,
  method: 'get',
  path: `${webhookMember}/attempts`,
  operationId: 'listWebhookAttempts',
  summary: 'List delivery attempts',
  description:
    'The delivery attempts of the last 30 days, newest first. With a filter, a page may have fewer items ' +
    "than `limit`, or none, even if there is a next page. The endpoint's response is shown only to keys " +
    'with the permission `events`, because it may repeat what was sent.',
  query: attemptsQuerySchema,
  answers: {
    200: {
      description: 'A page of attempts.',
      schema: pageSchema,
      example: { items: [attemptExample], next_page_token: null },
    },
  },
  errors: ['WebhookNotFound'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      const { req } = exchange;
      const body = await webhooks.attempts(...webhookOf(exchange), pageRequest(req), attemptFilter(req));
      return { body };
    },
});
