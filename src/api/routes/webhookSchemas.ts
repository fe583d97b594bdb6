import type { ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { unchangedEvents } from '../../modules/eventStream/cloudEvents.ts';
import type { WebhookManager } from '../../modules/webhooks/manager.ts';
import { messageId } from '../../modules/webhooks/messages.ts';
import { createWebhookSchema, type WebhookCaller } from '../../modules/webhooks/settings.ts';
import { disabledReasons, webhookPayloads } from '../../modules/webhooks/webhook.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { principal, timestamp } from '../schemas/records.ts';
import { exampleWebhookId } from '../schemas/webhooks.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';

/** Whether everything that is pending was counted. */
export const pendingIsExact = z.boolean().meta({
  description:
    'Whether there are no more. `false`: these are the least, as there are 1,000, or the log could not be read to its end within a second',
});

export interface WebhookRoutePorts extends IdempotencyPorts {
  webhooks: WebhookManager;
}

/** Path of a workspace's webhooks. */
export const webhookCollection = '/integration/webhooks';
/** Path of one of them. */
export const webhookMember = `${webhookCollection}/{id}`;
const webhookParams = z.object({
  id: z.string().meta({ description: 'The id of the webhook', examples: [exampleWebhookId] }),
});

/** Returns who works with webhooks, and what they may have sent. */
export function webhookCallerOf(context: RequestContext): WebhookCaller {
  return { ...callerOf(context), permissions: context.found?.key.permissions ?? [] };
}

/** Returns which webhook a path names. */
export function webhookId({ req }: RequestContext): string {
  return String(req.params.id);
}

/** Returns who works with a webhook, and with which one: the first arguments of operations on a webhook. */
export function webhookOf(context: RequestContext): [caller: WebhookCaller, id: string] {
  return [webhookCallerOf(context), webhookId(context)];
}

/**
 * Resolves with the result of a change to webhooks, which is made once for an `Idempotency-Key` (see `withOptionalIdempotency`).
 */
export function changeOnce<Result>(
  ports: WebhookRoutePorts,
  context: RequestContext,
  body: unknown,
  change: (caller: WebhookCaller) => Promise<Result>,
): Promise<Result> {
  const { permissions } = webhookCallerOf(context);
  return withOptionalIdempotency(ports, context, body, (caller) => change({ ...caller, permissions }));
}

/** What all endpoints of webhooks have in common. */
export const webhookEndpoint = { tag: 'Webhooks', permission: 'webhooks' } as const;

/** What all endpoints of a single webhook have in common. */
export const webhookMemberEndpoint = { ...webhookEndpoint, params: webhookParams } as const;

/** What can go wrong with a body. */
export const bodyErrors = ['InvalidWebhook', 'BodyTooLarge', 'NotJson'] as const;

/** Describes a JSON body. */
export function jsonBody(
  schema: z.ZodType,
  examples: Record<string, { summary: string; value: unknown }>,
  required = true,
): ZodRequestBody {
  return { required, content: { 'application/json': { schema, examples } } };
}

const { url, kinds, types, recipient, recipient_address, purpose, purpose_statement } =
  createWebhookSchema.shape;

const webhookFields = {
  id: z.string().meta({ examples: [exampleWebhookId] }),
  url,
  description: z.string().nullable(),
  kinds: kinds.unwrap(),
  types: types.unwrap(),
  payload: z.enum(webhookPayloads),
  unchanged: z.enum(unchangedEvents),
  recipient: recipient.unwrap(),
  recipient_address: recipient_address.unwrap(),
  purpose: purpose.unwrap(),
  purpose_statement: purpose_statement.unwrap(),
  start_after: z.string().meta({
    description: 'Sending starts with the first event after this position',
    examples: ['0000000000008135'],
  }),
  state: z.enum(['enabled', 'disabled']),
  disabled_reason: z
    .enum(disabledReasons)
    .nullable()
    .meta({
      description:
        '`caller`: it was disabled on request; `key_deleted`: the key that created it was deleted; `gone`: ' +
        'its endpoint returned 410; `failing`: its endpoint accepted nothing for five days',
    }),
  previous_secret_expires_at: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'Until when messages are also signed with the previous secret', examples: [null] }),
  created_at: timestamp('When it was made'),
  created_by: principal('Who made it'),
  updated_at: timestamp('When it was last changed'),
};

export const webhookSchema = z
  .object(webhookFields)
  .meta({ id: 'Webhook', description: 'An endpoint that events are sent to, without its secrets.' });

export const webhookStatusSchema = z
  .object({
    ...webhookFields,
    delivery: z
      .object({
        position: z.string().meta({
          description:
            'Every event up to this position was accepted, is waiting for a retry, or was given up',
        }),
        pending: z
          .int()
          .min(0)
          .meta({
            description:
              'Waiting messages, including those of a disabled webhook; of events that have not been ' +
              'examined yet, at most 1,000 are counted',
          }),
        pending_is_exact: pendingIsExact,
        oldest_pending_at: timestamp(
          'When the event of the oldest waiting message was recorded; `null` if none is waiting',
        ).nullable(),
        blocked: z
          .int()
          .min(0)
          .meta({
            description:
              'Records and documents whose messages are waiting because their oldest message has not been ' +
              'accepted yet',
          }),
        failed: z
          .int()
          .min(0)
          .max(1000)
          .meta({ description: 'Messages that were given up after the last attempt, counted up to 1,000' }),
        last_success_at: timestamp('When a message was last accepted').nullable(),
        failing_since: timestamp(
          'Since when no message has been accepted; `null` if the last one was',
        ).nullable(),
        problem: z
          .enum(['secret_unreadable'])
          .nullable()
          .meta({
            description:
              '`secret_unreadable`: nothing is sent, because the secret cannot be decrypted with the ' +
              "service's key (`WEBHOOK_SECRETS_KEY`); rotate the secret to fix this",
          }),
      })
      .meta({ description: 'The delivery status' }),
  })
  .meta({ id: 'WebhookStatus', description: 'A webhook, with its delivery status.' });

export const attemptSchema = z
  .object({
    message_id: z.string().meta({ description: 'The `webhook-id` of the message' }),
    type: z
      .string()
      .meta({ description: 'Type of the event', examples: ['chartledger.patient.upserted.v1'] }),
    kind: z
      .enum(subjectKinds)
      .optional()
      .meta({ description: 'Kind of the record that the message is about' }),
    record_id: z.string().optional().meta({ description: 'Its id; for a document, the id of its encounter' }),
    document_id: z.string().optional().meta({ description: 'Id of the document' }),
    version: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'Version of the record that the event created; omitted if it created none' }),
    position: z
      .string()
      .optional()
      .meta({ description: 'Position of the event: the `sequence` of its CloudEvent' }),
    attempt: z.int().min(0).meta({ description: '1, 2, 3 …; 0 for a ping' }),
    at: timestamp('When it began'),
    duration_ms: z.number().min(0),
    outcome: z.enum(['delivered', 'retrying', 'failed']).meta({
      description: '`retrying`: it is retried at `next_attempt_at`; `failed`: this was the last attempt',
    }),
    status: z.int().optional().meta({ description: 'HTTP status of the response, if there was one' }),
    error: z
      .string()
      .optional()
      .meta({ description: 'Why there was no valid response', examples: ['timeout'] }),
    answer: z.string().optional().meta({
      description:
        'The first 1,000 characters of the response body; only for keys with the permission `events`',
    }),
    next_attempt_at: timestamp('When it is tried again').optional(),
  })
  .meta({ id: 'WebhookAttempt', description: 'An attempt to deliver a message.' });

export const webhookWithSecretSchema = z
  .object({
    ...webhookFields,
    secret: z.string().meta({
      description: 'The secret to verify messages with; shown only this once',
      examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    }),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook and its new secret.' });

export const webhookExample = {
  id: exampleWebhookId,
  url: 'https://billing.example.com/webhooks/chartledger',
  description: 'Billing, production',
  kinds: ['patient', 'encounter'],
  types: null,
  payload: 'reference',
  unchanged: 'send',
  recipient: 'Billing Partners LLC',
  recipient_address: '12 Main St, Omaha, NE 68102',
  purpose: 'payment',
  purpose_statement: null,
  start_after: '0000000000008135',
  state: 'enabled',
  disabled_reason: null,
  previous_secret_expires_at: null,
  created_at: '2026-03-14T09:30:00.000Z',
  created_by: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC', name: 'Billing setup' },
  updated_at: '2026-03-14T09:30:00.000Z',
};
export const statusExample = {
  ...webhookExample,
  delivery: {
    position: '0000000000009120',
    pending: 0,
    pending_is_exact: true,
    oldest_pending_at: null,
    blocked: 0,
    failed: 0,
    last_success_at: '2026-03-14T16:05:12.610Z',
    failing_since: null,
    problem: null,
  },
};
export const attemptExample = {
  message_id: messageId(exampleWebhookId, exampleRequestId),
  type: 'chartledger.patient.upserted.v1',
  kind: 'patient',
  record_id: 'patient-1',
  version: 3,
  position: '0000000000009120',
  attempt: 1,
  at: '2026-03-14T16:05:12.492Z',
  duration_ms: 118,
  outcome: 'delivered',
  status: 204,
  answer: '',
};
export const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';
