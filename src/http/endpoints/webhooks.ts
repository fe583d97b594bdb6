import { decodeToken, encodeToken } from '../../reads/page.ts';
import type { WebhookCaller } from '../../webhooks/settings/payloadPermissions.ts';
import type { WebhookManager } from '../../webhooks/settings/WebhookManager.ts';
import type { WebhookStatusView } from '../../webhooks/settings/webhookView.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { readJson } from '../server/readJson.ts';
import type { Route } from './index.ts';
import { attemptFilter, attemptsQuerySchema, pageQuerySchema, pageRequest } from './parameters.ts';

export interface WebhookRoutePorts {
  webhooks: WebhookManager;
}

const route = '/integration/webhooks';

function webhookCallerOf(exchange: Exchange): WebhookCaller {
  return { ...callerOf(exchange), permissions: exchange.found?.key.permissions ?? [] };
}

const idOf = ({ req }: Exchange) => String(req.params.id);

/** The JSON body of a request that may do without one. */
async function readOptionalJson(exchange: Exchange): Promise<unknown> {
  const { req } = exchange;
  const isEmpty = req.headers['transfer-encoding'] === undefined && !Number(req.headers['content-length']);
  return isEmpty ? {} : readJson(exchange);
}

/** `/integration/webhooks` and what is below it. */
export function webhookRoutes({ webhooks }: WebhookRoutePorts): Route[] {
  const endpoint = (
    method: Route['method'],
    path: string,
    handle: (exchange: Exchange, caller: WebhookCaller) => Promise<object>,
    query?: Endpoint['query'],
  ): Route => {
    const one: Endpoint = {
      route: route + path,
      permission: 'webhooks',
      ...(query && { query }),
      handle: async (exchange) => ({ body: await handle(exchange, webhookCallerOf(exchange)) }),
    };
    return { method, endpoint: one };
  };
  return [
    endpoint('post', '', async (exchange, caller) => {
      const { webhook, secret } = await webhooks.create(caller, await readJson(exchange));
      return { ...webhook, secret };
    }),
    endpoint(
      'get',
      '',
      async ({ req }, caller) => {
        const { limit, pageToken } = pageRequest(req);
        const after = pageToken === undefined ? -1 : decodeToken(pageToken);
        const left = (await webhooks.list(caller)).filter(({ order }) => order > after);
        const page = left.slice(0, limit);
        const last = page.at(-1);
        return {
          items: await webhooks.views(page),
          next_page_token: last && left.length > page.length ? encodeToken(last.order) : null,
        };
      },
      pageQuerySchema,
    ),
    endpoint('get', '/:id', async (exchange, caller) => {
      const [view] = await webhooks.views([await webhooks.find(caller, idOf(exchange))]);
      return view as WebhookStatusView;
    }),
    endpoint('patch', '/:id', async (exchange, caller) =>
      webhooks.update(caller, idOf(exchange), await readJson(exchange)),
    ),
    endpoint('delete', '/:id', async (exchange, caller) => {
      await webhooks.delete(caller, idOf(exchange));
      return { success: true, message: 'Webhook deleted' };
    }),
    endpoint('post', '/:id/secret/rotate', async (exchange, caller) => {
      const input = await readOptionalJson(exchange);
      const { webhook, secret } = await webhooks.rotateSecret(caller, idOf(exchange), input);
      return { ...webhook, secret };
    }),
    endpoint('post', '/:id/ping', async (exchange, caller) => {
      const messageId = await webhooks.ping(caller, idOf(exchange));
      return { success: true, message: 'Ping requested', message_id: messageId };
    }),
    endpoint('post', '/:id/retry', async (exchange, caller) => {
      await webhooks.retry(caller, idOf(exchange));
      return { success: true, message: 'Retry requested' };
    }),
    endpoint('post', '/:id/replay', async (exchange, caller) => {
      await webhooks.replay(caller, idOf(exchange), await readJson(exchange));
      return { success: true, message: 'Replay requested' };
    }),
    endpoint(
      'get',
      '/:id/attempts',
      (exchange, caller) => {
        const { req } = exchange;
        return webhooks.attempts(caller, idOf(exchange), pageRequest(req), attemptFilter(req));
      },
      attemptsQuerySchema,
    ),
  ];
}
