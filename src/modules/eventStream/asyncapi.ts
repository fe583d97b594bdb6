import { z } from 'zod';
import { RECORD_ERASED } from '../../domain/events/payloads.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { sentSchema } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import {
  type NarrowedView,
  narrowedViews,
  shownSchema,
} from '../../domain/records/schema/deidentification.ts';
import { feedEventTypes, readinessSchemas, type Selection, type StreamedEventType } from './cloudEvents.ts';
import { narrowedSchemaName, shownFieldNames, shownFields } from './deidentification.ts';
import { deidentificationMethods } from './deidentificationSettings.ts';
import { pascalCase, withTitles } from './schemaTitles.ts';

/** The JSON Schema of one type of event in one view: a document at `/schemas/{name}`. */
export interface EventSchema {
  /** The event's type; the limited and the de-identified view have their own names. */
  name: string;
  feedType: StreamedEventType;
  view: Selection['view'];
  /** What the event reports. */
  title: string;
  /** What generated code calls the event: `PatientUpserted`. */
  typeName: string;
  /** Of the event's `data`. */
  data: z.ZodObject;
}

const { document_id, category } = documentFieldsSchema.shape;
const encounterId = encounter.schema.shape.id;

/** The data of document events: the caller's fields and what is known of the file. */
export const documentSchemas = {
  DocumentUploaded: z.object({
    encounter_id: encounterId,
    document_id,
    category,
    filename: z.string().meta({ description: 'Base name of the file, as sent', examples: ['results.pdf'] }),
    format: z.enum(Object.keys(documentFormats)).meta({ examples: ['pdf'] }),
    size: z
      .int()
      .min(0)
      .meta({ description: 'Bytes', examples: [48_213] }),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ description: 'SHA-256 of the file, lowercase hex' }),
  }),
  DocumentRemoved: z.object({ encounter_id: encounterId, document_id }),
  DocumentErased: z.object({ encounter_id: encounterId, document_id }),
};

/** Returns the schema of what the erasure of a record reports. */
export function erasedSchema(kind: string): z.ZodObject {
  return z.object({ id: catalogEntry(kind).schema.shape.id as z.ZodType });
}

/** Describes the subject of an event. */
export const subjectDescription =
  'The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the ' +
  'billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the ' +
  'workspace, `readiness`';

/** Describes the attribute of an event that names how it is de-identified. */
export const methodDescription =
  '`expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))';

const version = z
  .int()
  .min(1)
  .meta({
    description: 'Number in the history of the record or document, or among the readiness events: 1, 2, 3 …',
    examples: [2],
  });

const sentDescription =
  'The fields as sent; `null` cleared a field, and a field that is missing here kept its value';
const changedDescription =
  'Names of the fields whose values the event changed; insurance fields use dot notation: ' +
  '`primary_insurance.payer_id`';

/** A patch sends only some of the fields. */
function sentFields({ logType, kind }: StreamedEventType): z.ZodObject {
  if (kind === 'document') return documentSchemas[logType as keyof typeof documentSchemas];
  if (kind === 'readiness') return readinessSchemas[logType as keyof typeof readinessSchemas];
  return logType === RECORD_ERASED ? erasedSchema(kind) : sentSchema(kind);
}

/** New fields may be added without a new version, so additional fields are allowed. */
function fullData(feedType: StreamedEventType): z.ZodObject {
  return z.object({
    version,
    sent: sentFields(feedType).meta({ description: sentDescription }),
    changed: z.array(z.string()).meta({ description: changedDescription }),
  });
}

/** Contains these fields and no others: the view guarantees that. */
function narrowedData(view: NarrowedView, feedType: StreamedEventType): z.ZodObject {
  return z.strictObject({
    version,
    sent: shownSchema(shownFields(view, feedType), sentFields(feedType)).meta({
      description: `${sentDescription}; ${omitted[view]}`,
    }),
    changed: z
      .array(z.enum(shownFieldNames(view, feedType)))
      .meta({ description: `${changedDescription}; omitted fields are not named` }),
  });
}

const omitted: Record<NarrowedView, string> = {
  limited: 'direct identifiers of a person are omitted',
  deidentified: 'data that could identify a person is omitted',
};

/** Returns what an event says, for people: `Patient created or updated`. */
export function eventTitle({ type }: Pick<StreamedEventType, 'type'>): string {
  const [, named = '', what = ''] = type.split('.');
  const title = named.replace(/^./, (letter) => letter.toUpperCase());
  return `${title} ${what === 'upserted' ? 'created or updated' : what.replaceAll('_', ' ')}`;
}

function everyView(feedType: StreamedEventType): EventSchema[] {
  const title = eventTitle(feedType);
  const [, named = '', what = ''] = feedType.type.split('.');
  const typeName = pascalCase(`${named}.${what}`);
  return [
    { name: feedType.type, feedType, view: 'full', title, typeName, data: fullData(feedType) },
    ...narrowedViews.map((view) => ({
      name: narrowedSchemaName(view, feedType.type),
      ...{ feedType, view },
      title: `${title}, ${view === 'limited' ? 'in a limited data set' : 'de-identified'}`,
      typeName: `${view === 'limited' ? 'Limited' : 'Deidentified'}${typeName}`,
      data: narrowedData(view, feedType),
    })),
  ];
}

/** Every type of event in every view, by name. */
export const eventSchemas: ReadonlyMap<string, EventSchema> = new Map(
  feedEventTypes.flatMap(everyView).map((schema) => [schema.name, schema]),
);

/** Returns the schema of an event's `data`, as a JSON Schema document (2020-12). */
export function jsonSchemaOf({ name, title, typeName, data }: EventSchema): object {
  const { $schema, ...schema } = z.toJSONSchema(data, { io: 'input' });
  return {
    $schema,
    $id: `/schemas/${name}`,
    description: `\`data\` of the event \`${name}\`: ${title.replace(/^./, (letter) => letter.toLowerCase())}.`,
    ...withTitles(schema, `${typeName}Data`, typeName),
  };
}

const description = `
Every accepted write in a workspace is one event, in log order, starting with the very first one; so is every change in
the readiness of encounters for billing that the service itself reports. Subscribers read events with \`GET /events\`, live
as server-sent events or in pages of JSON lines, and resume with the \`sequence\` of the last event that they processed.

Each event is a CloudEvent 1.0 in its structured JSON form. \`dataschema\` is the URL of the JSON Schema of its \`data\`.
The last part of \`type\` is the version of that schema: a version may gain fields; any other change creates a new version.

A limited data set (45 CFR 164.514(e)) contains the same events without direct identifiers: ids are keyed hashes; dates, cities, states and
five-digit ZIP codes are kept. It is protected health information, for recipients with a data use agreement.

The de-identified view contains the same events without data that could identify a person (HIPAA Safe Harbor, 45 CFR
164.514(b)(2)): ids are keyed hashes that can still be joined, dates are reduced to years, and names, addresses below the
state, contact data and numbers are omitted. Where the workspace has loaded the areas with more than 20,000 people, ZIP codes have their first three
digits; where it shifts dates, those of a patient are earlier by the same number of days, and events name the method in \`deidentification\`. When the key of the hashes is changed, all hashes change, including those of
events that were read before. \`pseudonymepoch\` of an event is then greater than before, and a subscriber that joins by
hashes must read again from the beginning.
`.trim();

const channel = 'events';

const views = {
  full: {
    operation: 'sendEvents',
    title: 'Events',
    summary: 'Every event of the workspace.',
    description: 'Keys with the permission `events` get this view.',
  },
  limited: {
    operation: 'sendLimitedEvents',
    title: 'Events of a limited data set',
    summary: 'The same events, without direct identifiers of persons.',
    description:
      'Keys with the permission `events:limited`, but not `events`, get this view, and so do requests with `view=limited`.',
  },
  deidentified: {
    operation: 'sendDeidentifiedEvents',
    title: 'De-identified events',
    summary: 'The same events, without data that could identify a person.',
    description:
      'Keys that have only the permission `events:deidentified` get this view, and so do requests with ' +
      '`view=deidentified`.',
  },
} as const;

const securitySchemes = {
  apiKeyHeader: {
    type: 'httpApiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'An API key. This is the recommended method.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, as `Authorization: Bearer`. Ignored if `x-api-key` is sent.',
  },
};

const reference = (...path: string[]) => ({ $ref: `#/${path.join('/')}` });

/**
 * Returns the schema of a whole event: the attributes of CloudEvents 1.0, the extensions `sequence` and `traceparent`, and
 * `data`.
 */
function envelopeSchema({ name, feedType, data, view }: EventSchema): z.ZodObject {
  const deidentified = view === 'deidentified';
  const isHashed = view !== 'full';
  return z.object({
    specversion: z.literal('1.0'),
    id: z.string().meta({
      description: isHashed
        ? 'Unique; a keyed hash'
        : 'Unique: the id of the request; for events that the service creates without a request, a separate id',
    }),
    source: z.string().meta({
      description: isHashed ? '`/workspaces/` and a keyed hash' : '`/workspaces/{workspace}`',
    }),
    type: z.literal(feedType.type),
    subject: z.string().meta({
      description: subjectDescription + (isHashed ? '. Ids are keyed hashes' : ''),
    }),
    time: z.iso.datetime().meta({
      description: deidentified ? 'The beginning of the year when it was recorded' : 'When it was recorded',
    }),
    datacontenttype: z.literal('application/json'),
    dataschema: z
      .string()
      .regex(new RegExp(`/schemas/${name.replaceAll('.', '\\.')}$`))
      .meta({ format: 'uri', description: 'URL of the JSON Schema of `data`' }),
    sequence: z.string().meta({
      description: 'Position in the log: sorts as text; subscribers resume after it',
    }),
    ...(isHashed && {
      pseudonymepoch: z
        .int()
        .min(2)
        .optional()
        .meta({
          description:
            'The number of the key that made the hashes; omitted while the first key is in use. Hashes of ' +
            'different epochs do not join: read again from the beginning',
        }),
    }),
    ...(deidentified && {
      deidentification: z
        .enum(deidentificationMethods)
        .optional()
        .meta({ description: `How the data is de-identified. ${methodDescription}` }),
    }),
    ...(!isHashed && {
      traceparent: z.string().optional().meta({
        description: 'The trace that the request was part of, if it was sent (W3C Trace Context)',
      }),
    }),
    data,
  });
}

/** Returns `components.schemas`: every event, its data, and what several of them share. */
function componentSchemas(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const { object } of catalog.flatMap(({ nested }) => nested)) {
    registry.add(object.schema, { id: object.title });
    registry.add(object.shown.limited, { id: `Limited${object.title}` });
    registry.add(object.shown.deidentified, { id: `Deidentified${object.title}` });
  }
  for (const schema of eventSchemas.values()) {
    registry.add(schema.data, { id: `${schema.name}.data` });
    registry.add(envelopeSchema(schema), { id: schema.name });
  }
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    // AsyncAPI's own schema format is a superset of this draft.
    target: 'draft-7',
    uri: (id) => `#/components/schemas/${id}`,
  });
  const typeNames = [...eventSchemas.values()].flatMap(({ name, typeName }) => [
    [name, [typeName, typeName]] as const,
    [`${name}.data`, [`${typeName}Data`, typeName]] as const,
  ]);
  const titles = new Map<string, readonly [title: string, base: string]>(typeNames);
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [
      id,
      withTitles(schema, ...(titles.get(id) ?? ([id, id] as const))),
    ]),
  );
}

function messages(): Record<string, object> {
  return Object.fromEntries(
    [...eventSchemas.values()].map(({ name, title }) => [
      name,
      {
        name,
        title,
        summary: `${title}.`,
        contentType: 'application/cloudevents+json',
        payload: reference('components', 'schemas', name),
      },
    ]),
  );
}

function operations(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(views).map(([view, { operation, ...words }]) => [
      operation,
      {
        action: 'send',
        channel: reference('channels', channel),
        ...words,
        bindings: {
          http: {
            method: 'GET',
            query: { type: 'object', properties: { view: { type: 'string', enum: [view] } } },
            bindingVersion: '0.3.0',
          },
        },
        messages: [...eventSchemas.values()]
          .filter((schema) => schema.view === view)
          .map(({ name }) => reference('channels', channel, 'messages', name)),
      },
    ]),
  );
}

/** Returns the catalog of all events that can be subscribed to, as an AsyncAPI 3.0.0 document. */
export function buildAsyncapi(version: string): object {
  const names = [...eventSchemas.keys()];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Chartledger events',
      version,
      description,
      license: { name: 'Apache License 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/cloudevents+json',
    servers: {
      self: {
        host: '{host}',
        protocol: 'http',
        description: 'The service that provides this document',
        variables: { host: { default: 'localhost:3000', description: 'Address of the service' } },
        security: Object.keys(securitySchemes).map((name) =>
          reference('components', 'securitySchemes', name),
        ),
      },
    },
    channels: {
      [channel]: {
        address: '/events',
        title: 'Event stream',
        description: "The events of the API key's workspace, in order and without gaps.",
        messages: Object.fromEntries(names.map((name) => [name, reference('components', 'messages', name)])),
      },
    },
    operations: operations(),
    components: { schemas: componentSchemas(), messages: messages(), securitySchemes },
  };
}
