import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { type EventSchema, eventSchemas, subjectDescription } from './schemas.ts';

const description = `
Every accepted write in a workspace is one event, in log order, starting with the very first one; so is every change in
the readiness of encounters for billing that the service itself reports. Subscribers read events with \`GET /events\`, live
as server-sent events or in pages of JSON lines, and resume with the \`sequence\` of the last event that they processed.

Each event is a CloudEvent 1.0 in its structured JSON form. \`dataschema\` is the URL of the JSON Schema of its \`data\`.
The last part of \`type\` is the version of that schema: a version may gain fields; any other change creates a new version.

The de-identified view contains the same events without data that could identify a person (HIPAA Safe Harbor, 45 CFR
164.514(b)(2)): ids are keyed hashes that can still be joined, dates are reduced to years, and names, addresses below the
state, contact data and numbers are omitted. When the key of the hashes is changed, all hashes change, including those of
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
  return z.object({
    specversion: z.literal('1.0'),
    id: z.string().meta({
      description: deidentified
        ? 'Unique; a keyed hash'
        : 'Unique: the id of the request; for events that the service creates by itself, an id of its own',
    }),
    source: z.string().meta({
      description: deidentified ? '`/workspaces/` and a keyed hash' : '`/workspaces/{workspace}`',
    }),
    type: z.literal(feedType.type),
    subject: z.string().meta({
      description: subjectDescription + (deidentified ? '. Ids are keyed hashes' : ''),
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
    ...(deidentified && {
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
    ...(!deidentified && {
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
    registry.add(object.shown, { id: `Deidentified${object.title}` });
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
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema]));
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
