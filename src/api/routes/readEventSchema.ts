import { z } from 'zod';
import { type EventSchema, eventSchemas, jsonSchemaOf } from '../../modules/eventStream/schemas.ts';
import { descriptionAccess } from '../schemas/descriptionAccess.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { schemaNotFound } from '../schemas/eventRefusals.ts';
import { cacheable, cacheHeaders, ifNoneMatch, notModified, type Tagged, tagged } from './cacheable.ts';

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
    'The type of an event, such as `chartledger.patient.upserted.v1`; with the suffix `.deidentified` for ' +
    'the de-identified view. It is the last part of the event’s `dataschema`.',
  examples: [example.name],
});

/** `GET /schemas/{name}`: the JSON Schema of an event's `data`; needs a key, unless the descriptions are public. */
export function readEventSchema(openapiPublic: boolean) {
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
    headers: ifNoneMatch,
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
      return async (exchange) => {
        const schema = eventSchemas.get(String(exchange.req.params.name));
        if (schema === undefined) {
          throw schemaNotFound();
        }
        const document = built.get(schema.name) ?? tagged(jsonSchemaOf(schema) as JsonSchema);
        built.set(schema.name, document);
        return cacheable(exchange, document, openapiPublic ? 'public' : 'private');
      };
    },
  });
}
