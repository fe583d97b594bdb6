import { z } from 'zod';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { feedEventTypes } from '../../modules/eventStream/cloudEvent.ts';
import { parsePosition } from '../../modules/eventStream/position.ts';
import { unchangedEvents } from '../../modules/eventStream/selection.ts';
import { NDJSON } from '../server/answer.ts';
import { wholeNumber } from './parameters.ts';

/** The forms in which events are sent; the first is for clients that accept any. */
export const eventMediaTypes = { ndjson: NDJSON, sse: 'text/event-stream' } as const;

function listOf(names: string[]) {
  return z
    .string({ error: 'must be sent once' })
    .refine((list) => list.split(',').every((name) => names.includes(name)), {
      error: `must be one or more of ${names.join(', ')}, separated by commas`,
    })
    .overwrite((list) => [...new Set(list.split(','))].join());
}

const position = z
  .string({ error: 'must be sent once' })
  .refine((text) => parsePosition(text) !== undefined, { error: 'must be the position of an event' });

/** Query of the event stream. */
export const eventsQuerySchema = z.object({
  after: position.optional().meta({
    description:
      'Events after this position, for example the `sequence` of the last event that you processed',
    examples: ['0000000000008135'],
  }),
  from: requiredDate(
    '2026-03-14T09:30:00Z',
    'Begin with the first event recorded at this moment or later; cannot be combined with `after`. A plain ' +
      'date means its first moment; a time without an offset is UTC. In the de-identified view, it must ' +
      'be the beginning of a year',
  ).optional(),
  kinds: listOf([...new Set(feedEventTypes.map(({ kind }) => kind))])
    .optional()
    .meta({
      description: 'Only events of these kinds, separated by commas',
      examples: ['patient,encounter'],
    }),
  types: listOf(feedEventTypes.map(({ type }) => type))
    .optional()
    .meta({
      description: 'Only events of these types, separated by commas',
      examples: ['chartledger.patient.upserted.v1'],
    }),
  view: z
    .enum(['full', 'deidentified'])
    .optional()
    .meta({
      description: 'Default `full`, or `deidentified` for a key that is allowed no other view',
      examples: ['full'],
    }),
  unchanged: z
    .enum(unchangedEvents)
    .default('send')
    .meta({
      description:
        '`skip`: omits events that changed no field of their record, for example when a record was sent ' +
        'again unchanged. First versions and erasures are never omitted',
      examples: ['skip'],
    }),
  limit: wholeNumber(1, 10_000)
    .default(1_000)
    .meta({
      description: 'Events per page, 1 to 10,000; a page of large events may have fewer',
      examples: [1_000],
    }),
  wait: wholeNumber(0, 60)
    .default(0)
    .meta({
      description: 'Seconds, 0 to 60, to wait for an event if the page would be empty',
      examples: [30],
    }),
});

export type EventsQuery = z.infer<typeof eventsQuerySchema>;

/** Header sent by a reconnecting reader of server-sent events. */
export const lastEventIdSchema = position.meta({
  description:
    'The `id` of the last event that you processed, as sent by clients of server-sent events; takes ' +
    'precedence over `after` and `from`',
  examples: ['0000000000008135'],
});
