import { z } from 'zod';
import { consumerTypes } from '../../modules/eventStream/consumers.ts';
import {
  type ConsumerListPorts,
  type ConsumerView,
  listConsumers,
  removeConsumer,
} from '../../modules/webhooks/consumerList.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { doneAnswer, timestamp } from '../schemas/records.ts';
import { EVENT_ACCESS } from './events.ts';
import { changeOnce, pendingIsExact, type WebhookRoutePorts, webhookCallerOf } from './webhookSchemas.ts';

const consumerSchema = z
  .object({
    type: z.enum(['webhook', ...consumerTypes]).meta({
      description:
        '`reader`: of `GET /events`; `sink`: written by `chartledger sink`; `webhook`: events are sent to it',
    }),
    name: z.string().meta({ description: 'The name that it gives itself; for a webhook, its id' }),
    key_id: z.string().nullable().meta({ description: 'The key that it read with last; `null` for others' }),
    contents: z.string().meta({ description: 'The view of events, or the payload of the webhook' }),
    position: z
      .string()
      .meta({ description: 'It got everything up to here', examples: ['0000000000008135'] }),
    pending: z.int().min(0).meta({ description: 'Events that it has not got, at most 1,000' }),
    pending_is_exact: pendingIsExact,
    oldest_pending_at: timestamp('When the oldest of these was recorded').nullable(),
    last_contact_at: timestamp(
      'When it read last; for a webhook, when it last accepted a message',
    ).nullable(),
    resumes: z.boolean().meta({ description: 'Whether the service keeps its position' }),
  })
  .meta({
    id: 'Consumer',
    description: 'Somebody who gets the events of the workspace, and how far behind.',
  });
const example: ConsumerView = {
  ...{ type: 'reader', name: 'warehouse', key_id: 'key_1', contents: 'full', position: '0000000000008135' },
  ...{ pending: 0, pending_is_exact: true, oldest_pending_at: null },
  ...{ last_contact_at: '2026-03-14T09:30:00.000Z', resumes: true },
};

/** `GET /integration/consumers`. */
const readConsumers = endpoint({
  method: 'get',
  path: '/integration/consumers',
  operationId: 'listConsumers',
  summary: 'List who gets the events of the workspace, and how far behind',
  description:
    'The readers of the event stream that name themselves (`consumer`), the sinks that do, and, for a key with the permission ' +
    '`webhooks`, the webhooks. Where several processes serve, what a reader did in the last minute may be missing.',
  tag: 'Events',
  permission: [...EVENT_ACCESS, 'webhooks'],
  answers: {
    200: {
      description: 'The consumers, readers and sinks first, by name.',
      schema: z
        .object({ items: z.array(consumerSchema) })
        .meta({ id: 'ConsumerList', description: 'Consumers.' }),
      example: { items: [example] },
    },
  },
  handler: (ports: ConsumerListPorts) => async (context) => {
    return { body: { items: await listConsumers(ports, webhookCallerOf(context)) } };
  },
});

/** `DELETE /integration/consumers/{name}`. */
const consumerRemoval = endpoint({
  method: 'delete',
  path: '/integration/consumers/{name}',
  operationId: 'removeConsumer',
  summary: 'Remove a consumer',
  description:
    'Removes a reader or sink that no longer reads, and the position that is kept for it. One that reads again is listed again. ' +
    'The audit trail has an entry.',
  tag: 'Events',
  permission: [...EVENT_ACCESS, 'webhooks'],
  takesIdempotencyKey: true,
  params: z.object({ name: z.string().meta({ description: 'Its name', examples: ['warehouse'] }) }),
  answers: {
    200: doneAnswer(
      'It was removed.',
      { id: 'ConsumerRemoved', description: 'The consumer was removed.' },
      'Consumer removed',
    ),
  },
  errors: ['ConsumerNotFound'],
  handler: (ports: ConsumerListPorts & WebhookRoutePorts) => async (context) => {
    await changeOnce(ports, context, undefined, (caller) =>
      removeConsumer(ports, caller, String(context.req.params.name)),
    );
    return { body: { success: true, message: 'Consumer removed' } as const };
  },
});

/** The endpoints of consumers. */
export const consumerEndpoints = [readConsumers, consumerRemoval];
