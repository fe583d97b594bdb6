import { z } from 'zod';
import { type EventSchema, eventSchemas, jsonSchemaOf } from '../../feed/format/schemas.ts';
import { headerRefs } from './headers.ts';
import type { Operation } from './operation.ts';
import { json } from './recordOperations.ts';

const asyncapiSchema = z
  .looseObject({
    asyncapi: z.literal('3.0.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    channels: z.looseObject({}),
    operations: z.looseObject({}),
    components: z.looseObject({}),
  })
  .meta({ id: 'AsyncApi', description: 'The catalogue of events.' });

const jsonSchemaSchema = z
  .looseObject({
    $schema: z.literal('https://json-schema.org/draft/2020-12/schema'),
    $id: z.string(),
    title: z.string(),
    description: z.string(),
    type: z.literal('object'),
  })
  .meta({ id: 'JsonSchema', description: 'A JSON Schema document.' });

const example = eventSchemas.get('chartledger.document.removed.v1') as EventSchema;

const name = z.string().meta({
  description:
    'The type of an event, such as `chartledger.patient.upserted.v1`; with `.deidentified` behind it for the de-identified view. It is the last part of the event’s `dataschema`.',
  examples: [example.name],
});

const notModified = (openapiPublic: boolean) => ({
  description: 'The document is still the one that `If-None-Match` names. The answer has no body.',
  headers: headerRefs(
    'Request-Id',
    'ETag',
    'Cache-Control',
    ...(openapiPublic ? [] : (['RateLimit-Policy', 'RateLimit'] as const)),
  ),
});

const ifNoneMatch = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description: 'An `ETag` from earlier: 304 when the document is still that one',
      examples: ['"h1T5Tjd5cPtkeFRPtb4aGG5S0eTIXrVCTTlQIR_6kRg"'],
    }),
});

/** The operations on the catalogue of events; `openapiPublic`: without a key. */
export function schemaOperations(openapiPublic: boolean): Operation[] {
  const permission = openapiPublic ? 'public' : 'key';
  return [
    {
      method: 'get',
      path: '/asyncapi/json',
      operationId: 'getAsyncApi',
      summary: 'The catalogue of events',
      description: 'Every event of `GET /events` in both views, as an AsyncAPI 3.0.0 document.',
      tag: 'Events',
      permission,
      request: { headers: ifNoneMatch },
      ok: {
        ...json('The document.', asyncapiSchema, {
          asyncapi: '3.0.0',
          info: { title: 'Chartledger events', version: '1.0.0' },
          channels: {},
          operations: {},
          components: {},
        }),
        headers: ['ETag', 'Cache-Control'],
      },
      ...(openapiPublic && { errors: ['InvalidParameter', 'InternalError'] }),
      responses: { 304: notModified(openapiPublic) },
    },
    {
      method: 'get',
      path: '/schemas/{name}',
      operationId: 'getEventSchema',
      summary: 'The schema of an event',
      description:
        'The JSON Schema (2020-12) of the `data` of an event: what stands at the `dataschema` of the event.',
      tag: 'Events',
      permission,
      request: { params: z.object({ name }), headers: ifNoneMatch },
      ok: {
        ...json('The schema.', jsonSchemaSchema, jsonSchemaOf(example)),
        headers: ['ETag', 'Cache-Control'],
      },
      errors: ['SchemaNotFound', ...(openapiPublic ? (['InvalidParameter', 'InternalError'] as const) : [])],
      responses: { 304: notModified(openapiPublic) },
    },
  ];
}
