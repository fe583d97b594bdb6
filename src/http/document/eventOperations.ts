import { z } from 'zod';
import { currentVersion } from '../../events/upcast.ts';
import { type CloudEvent, toCloudEvent } from '../../feed/format/cloudEvent.ts';
import { eventMediaTypes, eventsQuerySchema, lastEventIdSchema } from '../endpoints/eventsQuery.ts';
import { exampleAddress, exampleRequestId } from './examples.ts';
import type { Operation } from './operation.ts';

const workspace = 'clinic';
const sent = { id: 'payer-aetna', name: 'Aetna', state: 'CT' };

const example: CloudEvent = toCloudEvent(
  {
    id: exampleRequestId,
    type: 'PayerUpserted',
    stream: `${workspace}.payer-${sent.id}`,
    revision: 1,
    position: 8_136,
    recordedAt: '2026-03-14T09:30:00.000Z',
    data: sent,
    metadata: {
      workspace,
      principal: { type: 'api_key', id: 'key_1' },
      requestId: exampleRequestId,
      $correlationId: exampleRequestId,
      schemaVersion: currentVersion('PayerUpserted'),
    },
  },
  ['state'],
  exampleAddress,
);

const text = { type: 'string' } as const;

const read: Operation = {
  method: 'get',
  path: '/events',
  operationId: 'readEvents',
  summary: 'Read or follow the event stream',
  description:
    'Every event of the records and documents of the workspace: each version once, in order and without gaps, from ' +
    'the first one ever. Each is a CloudEvent 1.0 in its structured JSON form; `GET /asyncapi/json` is the catalogue.\n\n' +
    `With \`Accept: ${eventMediaTypes.ndjson}\`, or any, the answer is a page, a line an event. The header ` +
    '`Chartledger-Position` says where to go on: send it as `after`. An empty page means that there is nothing ' +
    'beyond, for now; with `wait` it is waited for.\n\n' +
    `With \`Accept: ${eventMediaTypes.sse}\` the answer goes on for as long as the reader stays: first what there is, ` +
    'then what is appended. `id` is the position of the event. Readers of server-sent events send the last one as ' +
    '`Last-Event-ID` when they connect again, and miss nothing. There is a comment at least every 15 seconds. ' +
    '`limit` and `wait` do not apply.\n\n' +
    'The de-identified view is for keys with the permission `events:deidentified`.',
  tag: 'Events',
  permission: ['events', 'events:deidentified'],
  request: { query: eventsQuerySchema, headers: z.object({ 'Last-Event-ID': lastEventIdSchema.optional() }) },
  ok: {
    description: 'Events, in the order of the log.',
    headers: ['Chartledger-Position'],
    content: {
      [eventMediaTypes.ndjson]: { schema: text, example: `${JSON.stringify(example)}\n` },
      [eventMediaTypes.sse]: {
        schema: text,
        example: `retry: 2000\n\nid: ${example.sequence}\ndata: ${JSON.stringify(example)}\n\n`,
      },
    },
  },
  errors: ['NotAcceptable'],
};

/** The operations on the event stream. */
export const eventOperations: readonly Operation[] = [read];
