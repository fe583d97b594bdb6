import { z } from 'zod';
import { messageId } from '../../webhooks/delivery/webhookMessage.ts';
import {
  createWebhookSchema,
  replaySchema,
  rotateSecretSchema,
  updateWebhookSchema,
} from '../../webhooks/settings/webhookSettings.ts';
import { attemptsQuerySchema, pageQuerySchema } from '../endpoints/parameters.ts';
import { pageOf } from './answerSchemas.ts';
import { exampleRequestId } from './examples.ts';
import type { Operation } from './operation.ts';
import { json } from './recordOperations.ts';
import { exampleWebhookId } from './webhookMessages.ts';
import {
  attemptExample,
  attemptSchema,
  secretExample,
  statusExample,
  webhookExample,
  webhookSchema,
  webhookStatusSchema,
  webhookWithSecretSchema,
} from './webhookSchemas.ts';

const collection = '/integration/webhooks';
const member = `${collection}/{id}`;
const params = z.object({
  id: z.string().meta({ description: 'The id of the webhook', examples: [exampleWebhookId] }),
});

type Examples = Record<string, { summary: string; value: unknown }>;

function body(schema: z.ZodType, examples: Examples, required = true) {
  return { required, content: { 'application/json': { schema, examples } } };
}

const done = (id: string, description: string, more: Record<string, z.ZodType> = {}) =>
  z.object({ success: z.literal(true), message: z.string(), ...more }).meta({ id, description });

const shared = { tag: 'Webhooks', permission: 'webhooks' } as const;
const bodyErrors = ['InvalidWebhook', 'BodyTooLarge', 'NotJson'] as const;

const create: Operation = {
  ...shared,
  method: 'post',
  path: collection,
  operationId: 'createWebhook',
  summary: 'Make a webhook',
  description:
    'Has events sent to a URL, from now on or from any point of the history. The answer holds the secret that signs ' +
    'the messages, this once. The payload `full` needs the permission `events` too, and `deidentified` needs ' +
    '`events` or `events:deidentified`; so does everything that is done with such a webhook afterwards. A workspace ' +
    'has at most 100 webhooks.',
  request: {
    body: body(createWebhookSchema, {
      minimal: { summary: 'Every event from now on', value: { url: webhookExample.url } },
      complete: {
        summary: 'Some kinds, from the first event on',
        value: {
          url: webhookExample.url,
          description: webhookExample.description,
          kinds: webhookExample.kinds,
          payload: 'reference',
          start: 'beginning',
        },
      },
    }),
  },
  ok: json('The webhook, and its secret.', webhookWithSecretSchema, {
    ...webhookExample,
    secret: secretExample,
  }),
  errors: [...bodyErrors, 'TooManyWebhooks'],
};

const list: Operation = {
  ...shared,
  method: 'get',
  path: collection,
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description:
    'The webhooks of the workspace, in the order of their creation; without those whose payload needs a permission ' +
    'that the key lacks.',
  request: { query: pageQuerySchema },
  ok: json(
    'A page of webhooks.',
    pageOf(webhookStatusSchema).meta({ id: 'WebhookPage', description: 'A page of webhooks.' }),
    { items: [statusExample], next_page_token: null },
  ),
};

const get: Operation = {
  ...shared,
  method: 'get',
  path: member,
  operationId: 'getWebhook',
  summary: 'Read a webhook',
  description: 'The webhook, and how its delivery does.',
  request: { params },
  ok: json('The webhook.', webhookStatusSchema, statusExample),
  errors: ['WebhookNotFound'],
};

const update: Operation = {
  ...shared,
  method: 'patch',
  path: member,
  operationId: 'updateWebhook',
  summary: 'Change, disable or enable a webhook',
  description:
    'A field that is left out keeps its value. What is changed counts for messages that are sent from then on, ' +
    'retries too. While a webhook is disabled nothing is sent; once it is enabled, it goes on where it stopped.',
  request: {
    params,
    body: body(updateWebhookSchema, {
      enable: { summary: 'Enable it', value: { state: 'enabled' } },
      filters: { summary: 'Other kinds', value: { kinds: ['payer'], description: null } },
    }),
  },
  ok: json('The webhook.', webhookSchema, webhookExample),
  errors: [...bodyErrors, 'WebhookNotFound'],
};

const remove: Operation = {
  ...shared,
  method: 'delete',
  path: member,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent. This cannot be undone.',
  request: { params },
  ok: json('The webhook is deleted.', done('WebhookDeleted', 'A webhook was deleted.'), {
    success: true,
    message: 'Webhook deleted',
  }),
  errors: ['WebhookNotFound'],
};

const rotate: Operation = {
  ...shared,
  method: 'post',
  path: `${member}/secret/rotate`,
  operationId: 'rotateWebhookSecret',
  summary: 'Give a webhook a new secret',
  description:
    'The answer holds the new secret, this once. For the time of the overlap messages are signed with the previous ' +
    'one, too, so that receivers can be changed one after the other.',
  request: {
    params,
    body: body(
      rotateSecretSchema,
      {
        day: { summary: 'Both count for a day', value: { overlap_seconds: 86_400 } },
        leaked: { summary: 'The previous one leaked', value: { overlap_seconds: 0 } },
      },
      false,
    ),
  },
  ok: json('The webhook, and its new secret.', webhookWithSecretSchema, {
    ...webhookExample,
    previous_secret_expires_at: '2026-03-15T16:05:12.480Z',
    updated_at: '2026-03-14T16:05:12.480Z',
    secret: secretExample,
  }),
  errors: [...bodyErrors, 'WebhookNotFound'],
};

const ping: Operation = {
  ...shared,
  method: 'post',
  path: `${member}/ping`,
  operationId: 'pingWebhook',
  summary: 'Have a ping sent',
  description:
    'Sends a message of the type `chartledger.webhook.ping.v1`. The attempts tell what came of it.',
  request: { params },
  ok: json(
    'The ping will be sent.',
    done('WebhookPingRequested', 'A ping will be sent.', {
      message_id: z.string().meta({ description: 'The `webhook-id` of the message' }),
    }),
    {
      success: true,
      message: 'Ping requested',
      message_id: messageId(exampleWebhookId, exampleRequestId),
    },
  ),
  errors: ['WebhookNotFound', 'WebhookDisabled'],
};

const replay: Operation = {
  ...shared,
  method: 'post',
  path: `${member}/replay`,
  operationId: 'replayWebhook',
  summary: 'Have messages sent once more',
  description:
    'All events after a position or from a time on, one message, or all that were given up after the last try. They ' +
    'have the `webhook-id` that they had before. 404 also for a message that was not sent in the last 30 days.',
  request: {
    params,
    body: body(replaySchema, {
      failed: { summary: 'What was given up', value: { failed: true } },
      time: { summary: 'From a time on', value: { from: '2026-03-14T12:00:00Z' } },
      beginning: { summary: 'Everything', value: { after: '0' } },
    }),
  },
  ok: json('The messages will be sent.', done('WebhookReplayRequested', 'Messages will be sent once more.'), {
    success: true,
    message: 'Replay requested',
  }),
  errors: [...bodyErrors, 'WebhookNotFound', 'WebhookDisabled'],
};

const retry: Operation = {
  ...shared,
  method: 'post',
  path: `${member}/retry`,
  operationId: 'retryWebhook',
  summary: 'Try now what waits',
  description:
    'All messages that wait for another try are tried at once, such as after an outage of the endpoint. A try that ' +
    'fails changes nothing of when the next one is due. What was given up is sent again by a replay.',
  request: { params },
  ok: json('What waits is tried.', done('WebhookRetryRequested', 'What waits is tried now.'), {
    success: true,
    message: 'Retry requested',
  }),
  errors: ['WebhookNotFound', 'WebhookDisabled'],
};

const attempts: Operation = {
  ...shared,
  method: 'get',
  path: `${member}/attempts`,
  operationId: 'listWebhookAttempts',
  summary: 'List the tries to deliver messages',
  description:
    'Those of the last 30 days, newest first. With a filter a page may hold fewer than `limit`, or none, although there is ' +
    'a next one. What the endpoint answered is shown to keys with the permission ' +
    '`events` alone: it may repeat what it was sent.',
  request: { params, query: attemptsQuerySchema },
  ok: json(
    'A page of attempts.',
    pageOf(attemptSchema).meta({
      id: 'WebhookAttemptPage',
      description: 'A page of attempts, newest first.',
    }),
    { items: [attemptExample], next_page_token: null },
  ),
  errors: ['WebhookNotFound'],
};

/** The operations on webhooks. */
export const webhookOperations: readonly Operation[] = [
  create,
  list,
  get,
  update,
  remove,
  rotate,
  ping,
  retry,
  replay,
  attempts,
];
