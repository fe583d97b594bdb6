import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { everyTerm } from '../../domain/events/disclosureTerms.ts';
import type { Position } from '../../domain/events/event.ts';
import { requiredDate, text } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import { disclosureTermsShape } from '../audit/disclosureTermsSchema.ts';
import { feedEventTypes } from '../eventStream/cloudEvent.ts';
import { parsePosition } from '../eventStream/position.ts';
import { unchangedEvents } from '../eventStream/selection.ts';
import { MAX_URL_LENGTH } from './checkUrl.ts';
import { type WebhookSettings, webhookPayloads } from './webhook.ts';

/** Longest time for which a secret signs alongside its successor. */
export const MAX_OVERLAP_SECONDS = 604_800;
const DEFAULT_OVERLAP_SECONDS = 86_400;

const feedKinds = [...new Set(feedEventTypes.map(({ kind }) => kind))];
const feedTypes = feedEventTypes.map(({ type }) => type);

/** Where to begin: after a position, after the log's last event, or with the first event at or after a time (ms). */
export type Start = { after: Position | 'head' } | { from: number };

const isDate = (value: string) => requiredDate('').safeParse(value).success;

/** An object without other fields: a misspelt filter or payload must not pass for its default. */
function exactly<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `has an unknown field; the fields are ${Object.keys(shape).join(', ')}`
        : undefined,
  });
}

function someOf<Value extends string>(values: [Value, ...Value[]], description: string) {
  return z
    .array(z.enum(values))
    .min(1, { error: 'must name one at least' })
    .nullable()
    .optional()
    .meta({ description, examples: [[values[1] ?? values[0]]] });
}

const url = z
  .string()
  .min(1)
  .meta({
    description: 'The URL to send messages to: `https`, with a public address',
    format: 'uri',
    maxLength: MAX_URL_LENGTH,
    examples: ['https://billing.example.com/webhooks/chartledger'],
  });

const settings = {
  description: text('Billing, production', 'A description for people'),
  kinds: someOf(feedKinds as [string, ...string[]], 'Only events of these kinds; all if absent or `null`'),
  types: someOf(
    feedTypes as [string, ...string[]],
    'Only events of these types, as in the event catalog; all if absent or `null`',
  ),
  ...disclosureTermsShape,
};

const payload = z.enum(webhookPayloads).meta({
  description:
    '`reference`: the ids, the version and the names of the changed fields, but no values; `full`: an ' +
    'event as in `GET /events`, which also requires the permission `events`; `deidentified`: its ' +
    'de-identified form, which also requires `events` or `events:deidentified`',
});

const unchanged = z.enum(unchangedEvents).meta({
  description:
    '`skip`: sends no message for events that changed no field of their record; first versions and ' +
    'erasures are always sent',
});

const start = z
  .string()
  .refine(
    (value) =>
      value === 'now' || value === 'beginning' || parsePosition(value) !== undefined || isDate(value),
    {
      error:
        'must be now, beginning, a position (the sequence of an event), or an ISO 8601 date or date-time',
    },
  )
  .default('now')
  .meta({
    description:
      'The first event to send: `now`, the next one; `beginning`, the very first one; a position (the ' +
      '`sequence` of an event), the one after it; an ISO 8601 date-time, the first one recorded at or ' +
      'after that time',
    examples: ['now'],
  });

/** Body of `POST /integration/webhooks`. */
export const createWebhookSchema = exactly({
  url,
  ...settings,
  payload: payload.default('reference'),
  unchanged: unchanged.default('send'),
  start,
});

/** Body of `PATCH /integration/webhooks/{id}`. */
export const updateWebhookSchema = exactly({
  url: url.optional(),
  ...settings,
  payload: payload.optional(),
  unchanged: unchanged.optional(),
  state: z.enum(['enabled', 'disabled']).optional().meta({
    description: '`disabled`: nothing is sent; `enabled`: sending resumes where it stopped',
  }),
});

/** Body of `POST /integration/webhooks/{id}/secret/rotate`. */
export const rotateSecretSchema = exactly({
  overlap_seconds: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_SECONDS)
    .default(DEFAULT_OVERLAP_SECONDS)
    .meta({
      description:
        'How many seconds messages are also signed with the previous secret. 0 invalidates it, and any ' +
        'earlier ones, immediately',
      examples: [DEFAULT_OVERLAP_SECONDS],
    }),
});

/** Body of `POST /integration/webhooks/{id}/replay`. */
export const replaySchema = exactly({
  after: z
    .string()
    .refine((value) => parsePosition(value) !== undefined, {
      error: 'must be a position: the sequence of an event',
    })
    .optional()
    .meta({ description: 'All events after this position (the `sequence` of an event; `0`: all events)' }),
  from: requiredDate('2026-03-14T12:00:00Z', 'All events recorded at or after this time').optional(),
  message_id: z
    .string()
    .regex(/^msg_[\w-]{1,60}$/, { error: 'must be the webhook-id of a message' })
    .optional()
    .meta({ description: 'A single message, by its `webhook-id`' }),
  failed: z
    .literal(true)
    .optional()
    .meta({ description: 'All messages that were given up after the last attempt' }),
});

/** What to send again. */
export type Replay = { start: Start; field: string } | { messageId: string } | { failed: true };

/** Returns the start that a text names; it must have passed the schema. */
export function parseStart(value: string): Start {
  if (value === 'now') return { after: 'head' };
  if (value === 'beginning') return { after: 0 };
  const after = parsePosition(value);
  return after === undefined ? { from: instantOf(value) } : { after };
}

/** Returns the replay that a body asks for. Throws `validation_failed`. */
export function parseReplay(input: unknown): Replay {
  const { after, from, message_id, failed } = validate(replaySchema, input);
  if ([after, from, message_id, failed].filter((value) => value !== undefined).length !== 1) {
    throw validationError([
      { field: '', message: 'The body must have exactly one of after, from, message_id and failed' },
    ]);
  }
  if (message_id !== undefined) return { messageId: message_id };
  if (failed) return { failed };
  const field = after === undefined ? 'from' : 'after';
  return { start: parseStart((after ?? from) as string), field };
}

type Optional<Fields> = { [Name in keyof Fields]?: Fields[Name] | null | undefined };

/** Returns the settings in the events' form, from a webhook or a validated body; lists name each thing once. */
export function settingsOf({
  url,
  payload,
  description,
  kinds,
  types,
  unchanged,
  ...others
}: Pick<WebhookSettings, 'url' | 'payload'> & Optional<WebhookSettings>): WebhookSettings {
  return {
    url,
    description: description ?? null,
    kinds: kinds ? feedKinds.filter((kind) => kinds.includes(kind)) : null,
    types: types ? feedTypes.filter((type) => types.includes(type)) : null,
    payload,
    unchanged: unchanged ?? 'send',
    ...everyTerm(others),
  };
}

/** Returns the settings that differ; undefined when none does. */
export function changedSettings(
  before: WebhookSettings,
  after: WebhookSettings,
): Partial<WebhookSettings> | undefined {
  const was = new Map(Object.entries(before));
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, was.get(name)));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** Throws `validation_failed` when no event can pass both filters. */
export function checkFilters({ kinds, types }: Pick<WebhookSettings, 'kinds' | 'types'>): void {
  if (kinds === null || types === null) return;
  const wanted = feedEventTypes.filter(({ kind, type }) => kinds.includes(kind) && types.includes(type));
  if (wanted.length > 0) return;
  throw validationError([{ field: 'types', message: 'must include a type of one of the kinds' }]);
}
