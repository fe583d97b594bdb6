import { createHash } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import { buildAsyncapi } from '../../feed/format/buildAsyncapi.ts';
import { eventSchemas, jsonSchemaOf } from '../../feed/format/schemas.ts';
import { version } from '../../version.ts';
import type { Answer } from '../server/answer.ts';
import type { Endpoint } from '../server/endpoint.ts';
import type { Exchange } from '../server/exchange.ts';

/** Schemas may gain fields with a new version of the service, so they are asked for again after an hour. */
const MAX_AGE_SECONDS = 3_600;

interface Tagged {
  body: object;
  etag: string;
}

function tagged(body: object): Tagged {
  return { body, etag: `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url')}"` };
}

/** Whether `If-None-Match` names the entity tag (RFC 9110, section 13.1.2: weak comparison). */
function isKnown({ req }: Exchange, etag: string): boolean {
  const tags = (req.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

function cacheable(exchange: Exchange, { body, etag }: Tagged, scope: 'public' | 'private'): Answer {
  const { headers } = exchange;
  headers[headers.indexOf('Cache-Control') + 1] = `${scope}, max-age=${MAX_AGE_SECONDS}`;
  // Node sends no body with a 304.
  return { status: isKnown(exchange, etag) ? 304 : 200, headers: { ETag: etag }, body };
}

/** `GET /schemas/{name}`: the JSON Schema of an event's `data`; needs a key, unless the descriptions are public. */
export function eventSchemaEndpoint(openapiPublic: boolean): Endpoint {
  const built = new Map<string, Tagged>();
  return {
    route: '/schemas/:name',
    permission: openapiPublic ? 'public' : 'key',
    async handle(exchange) {
      const schema = eventSchemas.get(String(exchange.req.params.name));
      if (schema === undefined) {
        throw new ServiceError(
          'not_found',
          'There is no schema of this name. GET /asyncapi/json names them all.',
        );
      }
      const document = built.get(schema.name) ?? tagged(jsonSchemaOf(schema));
      built.set(schema.name, document);
      return cacheable(exchange, document, openapiPublic ? 'public' : 'private');
    },
  };
}

/** `GET /asyncapi/json`: the catalogue of events; needs a key, unless the descriptions are public. */
export function asyncapiEndpoint(openapiPublic: boolean): Endpoint {
  let document: Tagged | undefined;
  return {
    route: '/asyncapi/json',
    permission: openapiPublic ? 'public' : 'key',
    async handle(exchange) {
      document ??= tagged(buildAsyncapi(version));
      return cacheable(exchange, document, openapiPublic ? 'public' : 'private');
    },
  };
}
