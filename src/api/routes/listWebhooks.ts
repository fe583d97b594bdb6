import { decodeToken, encodeToken } from '../../modules/records/queries/page.ts';
import { pageOf } from '../schemas/answerSchemas.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { pageQuerySchema, pageRequest } from '../schemas/parameters.ts';
import {
  type WebhookRoutePorts,
  webhookCallerOf,
  webhookCollection,
  webhookEndpoint,
} from './webhookAddress.ts';
import { statusExample, webhookStatusSchema } from './webhookSchemas.ts';

const pageSchema = pageOf(webhookStatusSchema).meta({
  id: 'WebhookPage',
  description: 'A page of webhooks.',
});

/** `GET /integration/webhooks`. */
export const listWebhooks = endpoint({
  ...webhookEndpoint,
  method: 'get',
  path: webhookCollection,
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description:
    'The webhooks of the workspace, in the order of their creation, except those whose payload requires a ' +
    'permission that the key lacks.',
  query: pageQuerySchema,
  answers: {
    200: {
      description: 'A page of webhooks.',
      schema: pageSchema,
      example: { items: [statusExample], next_page_token: null },
    },
  },
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (exchange) => {
      const { limit, pageToken } = pageRequest(exchange.req);
      const caller = webhookCallerOf(exchange);
      const scope = ['webhooks', caller.workspace];
      const after = pageToken === undefined ? -1 : decodeToken(pageToken, scope);
      const all = await webhooks.list(caller);
      const left = all.filter(({ order }) => order > after);
      const page = left.slice(0, limit);
      const last = page.at(-1);
      const next_page_token = last && left.length > page.length ? encodeToken(last.order, scope) : null;
      return { body: { items: await webhooks.views(page), next_page_token } };
    },
});
