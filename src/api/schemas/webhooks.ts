import type { RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { RECORD_ERASED, tombstoneTypes } from '../../domain/events/payloads.ts';
import { narrowedViews } from '../../domain/records/schema/deidentification.ts';
import {
  documentSchemas,
  erasedSchema,
  eventSchemas,
  methodDescription,
  subjectDescription,
} from '../../modules/eventStream/asyncapi.ts';
import {
  feedEventTypes,
  readinessSchemas,
  type StreamedEventType,
} from '../../modules/eventStream/cloudEvents.ts';
import { narrowedSchemaName } from '../../modules/eventStream/deidentification.ts';
import { deidentificationMethods, safeHarbor } from '../../modules/eventStream/deidentificationSettings.ts';
import { lazyDeidentifier } from '../../modules/eventStream/reader.ts';
import { buildMessage, buildPing, messageId, PING_TYPE } from '../../modules/webhooks/messages.ts';
import { type WebhookPayload, webhookPayloads } from '../../modules/webhooks/webhook.ts';
import { exampleAddress, exampleEvent, exampleRequestId } from './examples.ts';
import { alwaysTrue, recordSchemas, timestamp, versionNumber } from './records.ts';

export const exampleWebhookId = 'wh_7bQ2nVx0KfT4sLdR';

const changed = z.array(z.string()).meta({
  description:
    'Names of the fields whose values the event changed; insurance fields use dot notation: ' +
    '`primary_insurance.payer_id`',
});

const referenceData = z
  .object({
    version: versionNumber,
    outcome: z.enum(['created', 'updated', 'unchanged', 'removed', 'erased']).meta({
      description:
        'The result. `removed`: a document was removed; `erased`: everything known about it was ' +
        'permanently erased, and must be erased from any copies',
    }),
    changed,
    truncated: alwaysTrue(
      'the message would have contained values but would have been larger than 256 KB; read the record instead',
    ).optional(),
  })
  .meta({
    id: 'ReferenceData',
    description: 'What happened and in which version, without values: the payload `reference`.',
  });

const signatureHeaders = z.object({
  'webhook-id': z.string().meta({
    description:
      'Id of the message, the same for every attempt and every replay: a message with an id that you have ' +
      'seen before is a repeat',
    examples: [messageId(exampleWebhookId, exampleRequestId)],
  }),
  'webhook-timestamp': z
    .string()
    .meta({ description: 'When it was sent, in seconds since 1970', examples: ['1773482400'] }),
  'webhook-signature': z.string().meta({
    description:
      'Signatures, separated by spaces, one for each valid secret: `v1,` followed by the base64 ' +
      'HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`, keyed with the base64-decoded part of ' +
      'the secret after `whsec_` (Standard Webhooks)',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  }),
});

function envelope(type: string, subject: z.ZodType | undefined, data: z.ZodType) {
  return z.object({
    specversion: z.literal('1.0'),
    id: z.string().meta({
      description: 'Id of the event; in the payloads `limited` and `deidentified`, a keyed hash',
    }),
    source: z.string(),
    type: z.literal(type),
    ...(subject && {
      subject,
      sequence: z.string().meta({ description: 'Position in the log; sorts as text' }),
      traceparent: z.string().optional().meta({
        description:
          'The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`',
      }),
      pseudonymepoch: z
        .int()
        .min(2)
        .optional()
        .meta({
          description:
            'In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the ' +
            'first key is in use',
        }),
      deidentification: z
        .enum(deidentificationMethods)
        .optional()
        .meta({ description: `In the payload \`deidentified\`: ${methodDescription}` }),
      dataschema: z
        .string()
        .optional()
        .meta({
          format: 'uri',
          description:
            'URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), ' +
            'but not in the payload `reference`',
        }),
    }),
    time: timestamp('When it was recorded; in the payload `deidentified`, only the year'),
    datacontenttype: z.literal('application/json'),
    data,
  });
}

const subject = z.string().meta({ description: subjectDescription });

function sentSchema({ logType, kind }: StreamedEventType): z.ZodType {
  if (kind === 'document') return documentSchemas[logType as keyof typeof documentSchemas];
  if (kind === 'readiness') return readinessSchemas[logType as keyof typeof readinessSchemas];
  return logType === RECORD_ERASED ? erasedSchema(kind) : recordSchemas(kind).request;
}

function messageSchema(feedType: StreamedEventType): z.ZodType {
  const full = z
    .object({ version: versionNumber, sent: sentSchema(feedType), changed })
    .meta({ description: 'The payload `full`' });
  const narrowed = narrowedViews.map(
    (view) => eventSchemas.get(narrowedSchemaName(view, feedType.type))?.data as z.ZodType,
  );
  return envelope(feedType.type, subject, z.union([referenceData, full, ...narrowed]));
}

const deidentifier = lazyDeidentifier({ key: Buffer.alloc(32), epoch: 1 });

function messageExamples(feedType: StreamedEventType) {
  const event = exampleEvent(feedType);
  const isErasure = tombstoneTypes.includes(feedType.logType);
  const sent = isErasure ? [] : Object.keys(event.data);
  const isOfReadiness = feedType.kind === 'readiness';
  const changedFields = sent.filter(
    (name) => name !== 'id' && name !== 'object_id' && !(isOfReadiness && name === 'encounter_id'),
  );
  const summaries: Record<WebhookPayload, string> = {
    reference: 'Payload `reference`',
    full: 'Payload `full`',
    limited: 'Payload `limited`',
    deidentified: 'Payload `deidentified`',
  };
  return Object.fromEntries(
    webhookPayloads.map((payload) => {
      const view = narrowedViews.find((one) => one === payload);
      const { body } = buildMessage(
        { id: exampleWebhookId, payload },
        event,
        { changed: changedFields, isFirst: event.revision === 0 && !isOfReadiness },
        view && { deidentify: deidentifier(view), settings: safeHarbor },
        exampleAddress,
      );
      return [payload, { summary: summaries[payload], value: JSON.parse(body) }];
    }),
  );
}

const responses: RouteConfig['responses'] = {
  '2XX': { description: 'The message is accepted.' },
  410: { description: 'No more messages are wanted: the webhook is disabled.' },
  429: { description: 'Too many messages. They are sent again after `Retry-After`, at most one day later.' },
  503: { description: 'Not now. The message is sent again after `Retry-After`, at most one day later.' },
  default: {
    description:
      'Any other response, or none within 15 seconds: the message is sent again, up to ten times within ' +
      'three days.',
  },
};

/** The tag of messages: with the one of requests, generators would put both into one class, or overwrite one with the other. */
export const MESSAGES_TAG = 'Webhook messages';

function webhook(type: string, summary: string, schema: z.ZodType, examples: object): RouteConfig {
  return {
    method: 'post',
    path: type,
    operationId: type
      .replace(/^chartledger\.|\.v\d+$/g, '')
      .replace(/[._](\w)/g, (_, letter) => letter.toUpperCase()),
    summary,
    description:
      'Sent at least once to every webhook whose filters it matches, in order for each record and ' +
      'document, and for the readiness of each encounter.',
    tags: [MESSAGES_TAG],
    security: [],
    request: {
      headers: signatureHeaders,
      body: {
        required: true,
        content: { 'application/cloudevents+json': { schema, examples: { ...examples } } },
      },
    },
    responses,
  };
}

const pingRequest = {
  revision: 7,
  eventId: exampleRequestId,
  at: '2026-03-14T16:05:12.480Z',
  kind: 'ping',
} as const;

const ping = webhook(
  PING_TYPE,
  'A ping, to check that messages arrive',
  envelope(PING_TYPE, undefined, z.object({ webhook_id: z.string() })),
  {
    ping: {
      summary: 'A ping',
      value: JSON.parse(buildPing({ id: exampleWebhookId }, pingRequest).body),
    },
  },
);

/** Every message sent to webhooks: what the document lists under `webhooks`. */
export const webhookMessages = (): RouteConfig[] => [
  ...feedEventTypes.map((feedType) =>
    webhook(
      feedType.type,
      eventSchemas.get(feedType.type)?.title ?? feedType.type,
      messageSchema(feedType),
      messageExamples(feedType),
    ),
  ),
  ping,
];
