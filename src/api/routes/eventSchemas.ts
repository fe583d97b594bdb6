import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Position } from '../../domain/events/event.ts';
import type { DisclosedRange } from '../../domain/events/payloads.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import type { NarrowedView } from '../../domain/records/schema/deidentification.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import {
  buildAsyncapi,
  type EventSchema,
  eventSchemas,
  jsonSchemaOf,
} from '../../modules/eventStream/asyncapi.ts';
import { type Narrowing, type SnapshotLine, snapshotLine } from '../../modules/eventStream/changedFields.ts';
import { eventViews } from '../../modules/eventStream/cloudEvents.ts';
import { DeidentificationHistory } from '../../modules/eventStream/deidentificationSettings.ts';
import { formatPosition, startAt } from '../../modules/eventStream/position.ts';
import { type Snapshot, type SnapshotPart, snapshotOf } from '../../modules/records/queries/lists.ts';
import { version } from '../../platform/version.ts';
import { bytesSchema, descriptionAccess, endpoint } from '../schemas/endpoint.ts';
import { schemaNotFound } from '../schemas/errors.ts';
import { asOfQuerySchema, readConditions, requestedAsOf, withPlus } from '../schemas/parameters.ts';
import { requireUsable } from '../server/admission.ts';
import { NDJSON } from '../server/answer.ts';
import { callerOf } from '../server/requestContext.ts';
import {
  cacheable,
  cacheHeaders,
  EVENT_ACCESS,
  type EventsPorts,
  notModified,
  requireShownMoment,
  type Tagged,
  tagged,
  viewOf,
} from './events.ts';

const asyncapiSchema = z
  .looseObject({
    asyncapi: z.literal('3.0.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    channels: z.looseObject({}),
    operations: z.looseObject({}),
    components: z.looseObject({}),
  })
  .meta({ id: 'AsyncApi', description: 'The event catalog.' });

type AsyncApi = z.output<typeof asyncapiSchema>;

/** `GET /asyncapi/json`: the catalogue of events; needs a key, unless the descriptions are public. */
function readAsyncApi(openapiPublic: boolean) {
  return endpoint({
    method: 'get',
    path: '/asyncapi/json',
    operationId: 'getAsyncApi',
    summary: 'Read the event catalog',
    description: 'Every event of `GET /events` in both views, as an AsyncAPI 3.0.0 document.',
    tag: 'Events',
    ...descriptionAccess(openapiPublic),
    headers: readConditions,
    answers: {
      200: {
        description: 'The document.',
        headers: cacheHeaders,
        schema: asyncapiSchema,
        example: {
          asyncapi: '3.0.0',
          info: { title: 'Chartledger events', version: '1.0.0' },
          channels: {},
          operations: {},
          components: {},
        },
      },
      304: notModified,
    },
    handler() {
      let document: Tagged<AsyncApi> | undefined;
      return async (context) => {
        document ??= tagged(buildAsyncapi(version) as AsyncApi);
        return cacheable(context, document, openapiPublic ? 'public' : 'private');
      };
    },
  });
}

const jsonSchemaSchema = z
  .looseObject({
    $schema: z.literal('https://json-schema.org/draft/2020-12/schema'),
    $id: z.string(),
    title: z.string(),
    description: z.string(),
    type: z.literal('object'),
  })
  .meta({ id: 'JsonSchema', description: 'A JSON Schema document.' });

type JsonSchema = z.output<typeof jsonSchemaSchema>;

const example = eventSchemas.get('chartledger.document.removed.v1') as EventSchema;

const name = z.string().meta({
  description:
    'The type of an event, such as `chartledger.patient.upserted.v1`; with the suffix `.limited` or `.deidentified` for ' +
    'these views. It is the last part of the event’s `dataschema`.',
  examples: [example.name],
});

/** `GET /schemas/{name}`: the JSON Schema of an event's `data`; needs a key, unless the descriptions are public. */
function readEventSchema(openapiPublic: boolean) {
  const { permission, errors } = descriptionAccess(openapiPublic);
  return endpoint({
    method: 'get',
    path: '/schemas/{name}',
    operationId: 'getEventSchema',
    summary: 'Read the schema of an event',
    description:
      "The JSON Schema (2020-12) of the `data` of an event: the document that the event's `dataschema` " +
      'points to.',
    tag: 'Events',
    permission,
    params: z.object({ name }),
    headers: readConditions,
    answers: {
      200: {
        description: 'The schema.',
        headers: cacheHeaders,
        schema: jsonSchemaSchema,
        example: jsonSchemaOf(example),
      },
      304: notModified,
    },
    errors: ['SchemaNotFound', ...errors],
    handler() {
      const built = new Map<string, Tagged<JsonSchema>>();
      return async (context) => {
        const schema = eventSchemas.get(String(context.req.params.name));
        if (schema === undefined) {
          throw schemaNotFound();
        }
        const document = built.get(schema.name) ?? tagged(jsonSchemaOf(schema) as JsonSchema);
        built.set(schema.name, document);
        return cacheable(context, document, openapiPublic ? 'public' : 'private');
      };
    },
  });
}

const snapshotQuerySchema = asOfQuerySchema.extend({
  kind: z
    .enum(catalog.map(({ kind }) => kind))
    .meta({ description: 'The kind of record', examples: ['encounter'] }),
  view: z
    .enum(eventViews)
    .optional()
    .meta({
      description: 'Default: the first of `full`, `limited` and `deidentified` that the key is allowed',
      examples: ['full'],
    }),
});

const exampleLines = [
  { snapshot: { kind: 'payer', view: 'full', position: '0000000000008136' } },
  {
    subject: 'payer/payer-aetna',
    version: 2,
    created_at: '2026-03-14T09:00:00.000Z',
    updated_at: '2026-03-14T09:30:00.000Z',
    record: { id: 'payer-aetna', name: 'Aetna', state: 'CT' },
  } satisfies SnapshotLine,
  { end: { count: 1, unreadable: 0 } },
];

/** `GET /integration/snapshot`: every record of a kind, from which to continue with the event stream. */
function readSnapshot() {
  return endpoint({
    method: 'get',
    path: '/integration/snapshot',
    operationId: 'readSnapshot',
    summary: 'Read every record of a kind',
    description:
      'Every record of a kind in the workspace, one line of JSON each, in the view that the key has on ' +
      '`GET /events`. Use it to start consuming the stream without processing it from its first event. ' +
      'The first line and the header `Chartledger-Position` contain the position after which to continue ' +
      'with `GET /events`. A record may be newer than this position: skip events whose `version` is not ' +
      'higher than the one here. `record` has the fields as they were sent, merged. The last line, `end`, ' +
      'says how many records there were; if it is missing, the snapshot is incomplete and must be read ' +
      'again. `unreadable` counts additional records that are omitted because one of their events cannot ' +
      'be read; lists name them. Erased records are not included. With `as_of`, the records are as of that time, and the events after ' +
      'the position lead from there to the present; in the de-identified view, it must be the beginning of a year.',
    tag: 'Events',
    permission: EVENT_ACCESS,
    query: snapshotQuerySchema,
    answers: {
      200: {
        description: 'The records, in the order of their creation.',
        headers: ['Chartledger-Position'],
        stream: {
          [NDJSON]: {
            schema: bytesSchema,
            example: exampleLines.map((line) => `${JSON.stringify(line)}\n`).join(''),
          },
        },
      },
    },
    handler: (ports: EventsPorts) => async (context) => {
      const query = validate(snapshotQuerySchema, withPlus(context.req, 'as_of'));
      const entry = catalogEntry(query.kind);
      const found = context.found as FoundKey;
      const view = viewOf(found, query.view);
      const caller = callerOf(context);
      const asOf = requestedAsOf(query.as_of);
      if (asOf !== undefined) requireShownMoment(view, asOf, 'as_of');
      const snapshot = await snapshotOf(ports, caller.workspace, entry, asOf);
      const position = asOf === undefined ? snapshot.position : await startAt(ports.readModels, asOf);
      const narrowing =
        view === 'full' ? undefined : await narrowingOf(ports, view, caller.workspace, position);
      const accessTo = (shown?: DisclosedRange): AccessRecorded => ({
        ...{ action: 'export', kind: entry.kind },
        query: { snapshot: true, kind: entry.kind, view, as_of: query.as_of },
        ...(shown && {
          shown: {
            ...shown,
            event_types: [entry.eventType],
            ...(view !== 'full' && { view }),
          },
        }),
      });
      const whole = { ranges: [{ from: 0, to: snapshot.position }] };
      await recordAccess(ports.eventLog, caller, accessTo(asOf === undefined ? whole : undefined));
      // Which records there were is known as they are read.
      const showing = async ({ shown }: SnapshotPart) => {
        if (asOf !== undefined && shown) await recordFurtherAccess(ports.eventLog, caller, accessTo(shown));
      };
      const check = () => requireUsable(ports.directory.current(found), EVENT_ACCESS, context.clientIp);
      const place = formatPosition(position);
      const first = { snapshot: { kind: entry.kind, view, position: place, as_of: query.as_of } };
      const toLine = (state: RecordState) => snapshotLine(caller.workspace, entry, state, narrowing);
      return {
        headers: { 'Content-Type': NDJSON, 'Chartledger-Position': place },
        body: { stream: Readable.from(linesOf(first, snapshot.parts(check), showing, toLine)) },
      };
    },
  });
}

/** Resolves with what makes a view of the records of a snapshot: all of them by the settings in force at its position. */
async function narrowingOf(
  { feed, eventLog }: EventsPorts,
  view: NarrowedView,
  workspace: string,
  position: Position,
): Promise<Narrowing> {
  const settingsAt = await new DeidentificationHistory(eventLog).of(workspace, position);
  return { deidentify: await feed.deidentifier(view), settings: settingsAt(position + 1) };
}

/** Yields a text for each part, before which `showing` is awaited. */
async function* linesOf(
  first: object,
  parts: ReturnType<Snapshot['parts']>,
  showing: (part: SnapshotPart) => Promise<void>,
  toLine: (state: RecordState) => SnapshotLine,
): AsyncGenerator<string> {
  yield `${JSON.stringify(first)}\n`;
  const end = { count: 0, unreadable: 0 };
  for await (const part of parts) {
    await showing(part);
    const readable = part.states.filter((state) => state !== undefined);
    end.count += readable.length;
    end.unreadable += part.states.length - readable.length;
    yield readable.map((state) => `${JSON.stringify(toLine(state))}\n`).join('');
  }
  yield `${JSON.stringify({ end })}\n`;
}

/** The endpoints of the snapshot and of the event catalog; `openapiPublic`: the catalog needs no key. */
export const eventCatalogEndpoints = (openapiPublic: boolean) => [
  readSnapshot(),
  readAsyncApi(openapiPublic),
  readEventSchema(openapiPublic),
];
