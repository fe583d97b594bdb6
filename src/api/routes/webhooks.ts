import { z } from 'zod';
import { decodeToken, encodeToken } from '../../modules/records/queries/paging.ts';
import type { WebhookStatusView } from '../../modules/webhooks/manager.ts';
import { messageId } from '../../modules/webhooks/messages.ts';
import {
  createWebhookSchema,
  MAX_WEBHOOKS,
  replaySchema,
  rotateSecretSchema,
  updateWebhookSchema,
} from '../../modules/webhooks/settings.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { attemptFilter, attemptsQuerySchema, pageQuerySchema, pageRequest } from '../schemas/parameters.ts';
import { alwaysTrue, doneAnswer, pageOf } from '../schemas/records.ts';
import { exampleWebhookId } from '../schemas/webhooks.ts';
import { readJson } from '../server/body.ts';
import type { RequestContext } from '../server/requestContext.ts';
import {
  attemptExample,
  attemptSchema,
  bodyErrors,
  changeOnce,
  jsonBody,
  secretExample,
  statusExample,
  type WebhookRoutePorts,
  webhookCallerOf,
  webhookCollection,
  webhookEndpoint,
  webhookExample,
  webhookId,
  webhookMember,
  webhookMemberEndpoint,
  webhookOf,
  webhookSchema,
  webhookStatusSchema,
  webhookWithSecretSchema,
} from './webhookSchemas.ts';

/** `POST /integration/webhooks`. */
const createWebhook = endpoint({
  ...webhookEndpoint,
  method: 'post',
  path: webhookCollection,
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Sends events to a URL, from now on or from any point in the history. The response contains the ' +
    'secret that signs the messages, only this once. `recipient`, `recipient_address`, `purpose` and ' +
    '`purpose_statement` state who receives the messages and why: disclosure reports show the values that ' +
    'applied when a message was sent. The payload `full` also requires the permission `events`, and ' +
    '`deidentified` requires `events` or `events:deidentified`; so does every later operation on such a ' +
    `webhook. A workspace can have at most ${MAX_WEBHOOKS} webhooks.`,
  takesIdempotencyKey: true,
  body: jsonBody(createWebhookSchema, {
    minimal: { summary: 'Every event from now on', value: { url: webhookExample.url } },
    complete: {
      summary: 'Some kinds, starting with the first event',
      value: {
        url: webhookExample.url,
        description: webhookExample.description,
        kinds: webhookExample.kinds,
        payload: 'reference',
        recipient: webhookExample.recipient,
        recipient_address: webhookExample.recipient_address,
        purpose: webhookExample.purpose,
        start: 'beginning',
      },
    },
  }),
  answers: {
    200: {
      description: 'The webhook, and its secret.',
      schema: webhookWithSecretSchema,
      example: {
        ...webhookExample,
        secret: secretExample,
      },
    },
  },
  errors: [...bodyErrors, 'TooManyWebhooks'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    const input = await readJson(context);
    const { webhook, secret } = await changeOnce(ports, context, input, (caller) =>
      ports.webhooks.create(caller, input),
    );
    return { body: { ...webhook, secret } };
  },
});

const deleted = doneAnswer(
  'The webhook is deleted.',
  { id: 'WebhookDeleted', description: 'A webhook was deleted.' },
  'Webhook deleted',
);

/** `DELETE /integration/webhooks/{id}`. */
const deleteWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'delete',
  path: webhookMember,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Stops all deliveries. This cannot be undone.',
  takesIdempotencyKey: true,
  answers: { 200: deleted },
  errors: ['WebhookNotFound'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    await changeOnce(ports, context, undefined, (caller) =>
      ports.webhooks.delete(caller, webhookId(context)),
    );
    return { body: deleted.example };
  },
});

const attemptPageSchema = pageOf(attemptSchema).meta({
  id: 'WebhookAttemptPage',
  description: 'A page of attempts, newest first.',
});

/** `GET /integration/webhooks/{id}/attempts`. */
const listWebhookAttempts = endpoint({
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
      schema: attemptPageSchema,
      example: { items: [attemptExample], next_page_token: null },
    },
  },
  errors: ['WebhookNotFound'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (context) => {
      const { req } = context;
      const body = await webhooks.attempts(...webhookOf(context), pageRequest(req), attemptFilter(req));
      return { body };
    },
});

const webhookPageSchema = pageOf(webhookStatusSchema).meta({
  id: 'WebhookPage',
  description: 'A page of webhooks.',
});

/** `GET /integration/webhooks`. */
const listWebhooks = endpoint({
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
      schema: webhookPageSchema,
      example: { items: [statusExample], next_page_token: null },
    },
  },
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (context) => {
      const { limit, pageToken } = pageRequest(context.req);
      const caller = webhookCallerOf(context);
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

const pingedSchema = z
  .object({
    success: alwaysTrue(),
    message: z.string(),
    message_id: z.string().meta({ description: 'The `webhook-id` of the message' }),
  })
  .meta({ id: 'WebhookPingRequested', description: 'A ping will be sent.' });

const pingRequested = { success: true, message: 'Ping requested' } as const;

/** `POST /integration/webhooks/{id}/ping`. */
const pingWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/ping`,
  operationId: 'pingWebhook',
  summary: 'Send a ping',
  description: 'Sends a message of the type `chartledger.webhook.ping.v1`. The attempts show its outcome.',
  takesIdempotencyKey: true,
  answers: {
    200: {
      description: 'The ping will be sent.',
      schema: pingedSchema,
      example: { ...pingRequested, message_id: messageId(exampleWebhookId, exampleRequestId) },
    },
  },
  errors: ['WebhookNotFound', 'WebhookDisabled'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    const message_id = await changeOnce(ports, context, undefined, (caller) =>
      ports.webhooks.ping(caller, webhookId(context)),
    );
    return { body: { ...pingRequested, message_id } };
  },
});

/** `GET /integration/webhooks/{id}`. */
const readWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'get',
  path: webhookMember,
  operationId: 'getWebhook',
  summary: 'Read a webhook',
  description: 'The webhook, with its delivery status.',
  answers: { 200: { description: 'The webhook.', schema: webhookStatusSchema, example: statusExample } },
  errors: ['WebhookNotFound'],
  handler:
    ({ webhooks }: WebhookRoutePorts) =>
    async (context) => {
      const webhook = await webhooks.find(...webhookOf(context));
      const [view] = await webhooks.views([webhook]);
      return { body: view as WebhookStatusView };
    },
});

const replayRequested = doneAnswer(
  'The messages will be sent.',
  { id: 'WebhookReplayRequested', description: 'Messages will be sent again.' },
  'Replay requested',
);

/** `POST /integration/webhooks/{id}/replay`. */
const replayWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/replay`,
  operationId: 'replayWebhook',
  summary: 'Replay messages',
  description:
    'Replays all events after a position or from a point in time, a single message, or all messages that ' +
    'were given up after the last attempt. Messages keep their `webhook-id`. Returns 404 also for a ' +
    'message that was not sent in the last 30 days.',
  takesIdempotencyKey: true,
  body: jsonBody(replaySchema, {
    failed: { summary: 'Messages that were given up', value: { failed: true } },
    time: { summary: 'From a point in time', value: { from: '2026-03-14T12:00:00Z' } },
    beginning: { summary: 'Everything', value: { after: '0' } },
  }),
  answers: { 200: replayRequested },
  errors: [...bodyErrors, 'WebhookNotFound', 'WebhookDisabled'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    const input = await readJson(context);
    await changeOnce(ports, context, input, (caller) =>
      ports.webhooks.replay(caller, webhookId(context), input),
    );
    return { body: replayRequested.example };
  },
});

const retryRequested = doneAnswer(
  'The waiting messages are retried.',
  { id: 'WebhookRetryRequested', description: 'Waiting messages are retried now.' },
  'Retry requested',
);

/** `POST /integration/webhooks/{id}/retry`. */
const retryWebhook = endpoint({
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
  answers: { 200: retryRequested },
  errors: ['WebhookNotFound', 'WebhookDisabled'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    await changeOnce(ports, context, undefined, (caller) => ports.webhooks.retry(caller, webhookId(context)));
    return { body: retryRequested.example };
  },
});

/** Resolves with the JSON body of a request that may also have none. */
async function readOptionalJson(context: RequestContext): Promise<unknown> {
  const { req } = context;
  const isEmpty = req.headers['transfer-encoding'] === undefined && !Number(req.headers['content-length']);
  return isEmpty ? {} : readJson(context);
}

/** `POST /integration/webhooks/{id}/secret/rotate`. */
const rotateWebhookSecret = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/secret/rotate`,
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate the secret of a webhook',
  description:
    'The response contains the new secret, only this once. During the overlap, messages are also signed ' +
    'with the previous secret, so that receivers can be updated one after another.',
  takesIdempotencyKey: true,
  body: jsonBody(
    rotateSecretSchema,
    {
      day: { summary: 'Both secrets are valid for a day', value: { overlap_seconds: 86_400 } },
      leaked: { summary: 'The previous one leaked', value: { overlap_seconds: 0 } },
    },
    false,
  ),
  answers: {
    200: {
      description: 'The webhook, and its new secret.',
      schema: webhookWithSecretSchema,
      example: {
        ...webhookExample,
        previous_secret_expires_at: '2026-03-15T16:05:12.480Z',
        updated_at: '2026-03-14T16:05:12.480Z',
        secret: secretExample,
      },
    },
  },
  errors: [...bodyErrors, 'WebhookNotFound'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    const input = await readOptionalJson(context);
    const { webhook, secret } = await changeOnce(ports, context, input, (caller) =>
      ports.webhooks.rotateSecret(caller, webhookId(context), input),
    );
    return { body: { ...webhook, secret } };
  },
});

/** `PATCH /integration/webhooks/{id}`. */
const updateWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'patch',
  path: webhookMember,
  operationId: 'updateWebhook',
  summary: 'Change, disable or enable a webhook',
  description:
    'A field that is left out keeps its value. Changes apply to all messages sent from then on, including ' +
    'retries. While a webhook is disabled, nothing is sent; when it is enabled again, it resumes where it ' +
    'stopped.',
  takesIdempotencyKey: true,
  body: jsonBody(updateWebhookSchema, {
    enable: { summary: 'Enable it', value: { state: 'enabled' } },
    filters: { summary: 'Other kinds', value: { kinds: ['payer'], description: null } },
  }),
  answers: { 200: { description: 'The webhook.', schema: webhookSchema, example: webhookExample } },
  errors: [...bodyErrors, 'WebhookNotFound'],
  handler: (ports: WebhookRoutePorts) => async (context) => {
    const input = await readJson(context);
    const webhook = await changeOnce(ports, context, input, (caller) =>
      ports.webhooks.update(caller, webhookId(context), input),
    );
    return { body: webhook };
  },
});

/** The endpoints of webhooks. */
export const webhookEndpoints = [
  createWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  pingWebhook,
  retryWebhook,
  replayWebhook,
  listWebhookAttempts,
];
