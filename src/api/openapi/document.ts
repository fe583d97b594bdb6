import {
  OpenAPIRegistry,
  OpenApiGeneratorV31,
  type ResponseConfig,
  type RouteConfig,
} from '@asteasolutions/zod-to-openapi';
import { catalog } from '../../domain/records/catalog.ts';
import { permissions } from '../../modules/auth/permissions.ts';
import { version } from '../../platform/version.ts';
import { batchResultSchema, batchSummarySchema } from '../schemas/batch.ts';
import type { Answers, Endpoint } from '../schemas/endpoint.ts';
import type { ErrorResponseName } from '../schemas/errors.ts';
import { type HeaderName, headerRefs, headers, idempotencyKeyHeader } from '../schemas/headers.ts';
import { reconcileLineSchema, reconcileResultSchema, reconcileSummarySchema } from '../schemas/reconcile.ts';
import { errorSchema, tagOf } from '../schemas/records.ts';
import { MESSAGES_TAG, webhookMessages } from '../schemas/webhooks.ts';
import { errorRefs, errorResponseComponents } from './errorComponents.ts';

function needs(permission: Endpoint['permission']): string {
  if (permission === 'public') return 'Needs no API key.';
  if (permission === 'key') return 'Needs an API key of any permission.';
  const named = [permission].flat().map((permission) => `\`${permission}\``);
  return `Needs the permission ${named.join(' or ')}.`;
}

const keyErrors: ErrorResponseName[] = [
  'Unauthorized',
  'Forbidden',
  'RateLimited',
  'InternalError',
  'Unavailable',
];

const idempotencyErrors: ErrorResponseName[] = ['IdempotencyKeyInUse', 'IdempotencyKeyReused'];

function contentOf(answer: Answers[number]): Pick<ResponseConfig, 'content'> {
  if ('stream' in answer) return { content: answer.stream };
  if ('empty' in answer) return {};
  const { schema, example, examples } = answer;
  const shown = { ...(example !== undefined && { example }), ...(examples && { examples }) };
  return { content: { 'application/json': { schema, ...shown } } };
}

function responsesOf({ answers, permission, takesIdempotencyKey }: Endpoint): RouteConfig['responses'] {
  const limits: HeaderName[] = permission === 'public' ? [] : ['RateLimit-Policy', 'RateLimit'];
  const replays: HeaderName[] = takesIdempotencyKey ? ['Idempotent-Replayed'] : [];
  const responses = Object.entries(answers).map(([status, answer]) => {
    const { description, headers = [] } = answer;
    const response = {
      description,
      ...contentOf(answer),
      headers: headerRefs('Request-Id', ...headers, ...replays, ...limits),
    };
    return [status, response];
  });
  return Object.fromEntries(responses);
}

function requestOf(endpoint: Endpoint): NonNullable<RouteConfig['request']> {
  const { params, query, body, takesIdempotencyKey } = endpoint;
  const headers = takesIdempotencyKey
    ? idempotencyKeyHeader.extend(endpoint.headers?.shape ?? {})
    : endpoint.headers;
  return {
    ...(params && { params }),
    ...(query && query !== 'ignored' && { query }),
    ...(headers && { headers }),
    ...(body && { body }),
  };
}

/** Adds an endpoint's operation to the document. */
function registerOperation(registry: OpenAPIRegistry, endpoint: Endpoint): void {
  const { method, path, operationId, summary, description, tag, permission, body } = endpoint;
  const { errors = [], takesIdempotencyKey } = endpoint;
  const isPublic = permission === 'public';
  registry.registerPath({
    method,
    path,
    operationId,
    summary,
    request: requestOf(endpoint),
    tags: [tag],
    description: `${description}\n\n${needs(permission)}`,
    'x-permission': permission,
    ...(isPublic && { security: [] }),
    responses: {
      ...errorRefs([
        ...(takesIdempotencyKey ? idempotencyErrors : []),
        ...(isPublic ? errors : (['InvalidParameter', ...errors, ...keyErrors] as const)),
        ...(body ? (['TooSlow', 'ExpectationFailed'] as const) : []),
        'HeadersTooLarge',
      ]),
      ...responsesOf(endpoint),
    },
  });
}

const description = `
Chartledger accepts patients, payers, providers, facilities, encounters and their documents from an electronic medical
record system (EMR) for billing. Each accepted write is one event in an immutable history.

**Authentication.** Send an API key in the header \`x-api-key\`, or as \`Authorization: Bearer\`; if both are present,
\`x-api-key\` takes precedence. A key belongs to one workspace, can access only the data of that workspace, and has some of
these permissions: ${permissions.map((one) => `\`${one}\``).join(', ')}; \`write\` and \`read\` can be limited to
one kind, for example \`write:encounter\`. A key can expire, be accepted only from certain networks, and have its own rate
limit. Use keys on servers only.

**Writing.** Records carry the \`id\` that your system gives them. A POST creates the record, or updates the record with that
\`id\`. Send each write with a separate \`Idempotency-Key\`, and a retry with the key of its first request: without one, a
late retry puts older values back. A status of 200 means that the write is durable. Send records before those that
refer to them: payers, patients, providers, facilities, encounters, documents.

**Warnings.** Unknown fields are not stored; values that billing is likely to refuse are stored. The response lists both in
\`warnings\`.

**Versions.** Each write to a record increases its \`version\` by one. Send \`If-Match\` with the version that you read to make
sure that nobody else has written in the meantime, or \`If-None-Match: *\` to create only. Read with \`If-None-Match\` and an
earlier \`ETag\` to get 304 without a body if nothing has changed.

**Reading.** Responses include every write that was answered before the request. Lists are paginated: pass
\`next_page_token\` as \`page_token\` until it is \`null\`.

**Webhooks.** Events can be sent to a URL of yours, starting at any point in the history; the messages are listed under
\`webhooks\`. They are signed according to Standard Webhooks and delivered at least once, in order for each record. Verify the
signature, reject old timestamps, respond with a status of 200 to 299 within 15 seconds, and skip a \`webhook-id\` that
you have seen before.

**Parameters.** Unknown query parameters are refused with 400, and the error names the known ones;
\`GET /healthz\` and \`GET /readyz\` ignore the query.

**Compression.** JSON may be sent with \`Content-Encoding: gzip\`; responses in JSON and JSON lines of 1 KB or more are
compressed for clients that accept it.

**Tracing.** The \`X-Request-Id\` (up to 128 printable ASCII characters) and \`traceparent\` of a request are kept alongside
its own id, in the audit trail and in the service's log. Do not put patient data in them. A \`Purpose-Statement\` (up to 200
printable ASCII characters) says what a read is for; the audit trail has it in place of that of the key.

**Errors.** The body has \`error\` for humans, \`code\` for programs, and \`requestId\`, which is also the header
\`Request-Id\` of every response. Refused values are never repeated. An unknown path returns 404; an unsupported method
returns 405 with \`Allow\`. Requests are limited by client IP address (for IPv6, by /64), or by key if the key has its own limit. On 429, wait
\`retryAfter\` seconds; on 503, wait for the time in \`Retry-After\`; then send the request again.
`.trim();

const securitySchemes = {
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'An API key. This is the recommended method.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, as `Authorization: Bearer`. Ignored if `x-api-key` is sent.',
  },
} as const;

const tags = [
  ...catalog.map((entry) => ({ name: tagOf(entry), description: entry.description })),
  { name: 'Search', description: 'Find records and documents by names, dates, ids and numbers.' },
  {
    name: 'Batches',
    description: 'Many records in one request: send them, or compare them with those of another system.',
  },
  { name: 'HL7 v2', description: 'HL7 v2 messages.' },
  { name: 'Documents', description: 'PDF and DOCX files of an encounter.' },
  { name: 'Events', description: 'The stream of all events, and the event catalog.' },
  { name: 'Webhooks', description: 'Endpoints that events are sent to, signed.' },
  {
    name: 'Requests',
    description:
      'Which requests were refused, and why, the audit trail, and what is different between two moments.',
  },
  { name: 'Service', description: 'The service itself: its description and its health.' },
  { name: MESSAGES_TAG, description: 'Messages that are sent to a webhook’s URL by POST.' },
];

function register(endpoints: readonly Endpoint[]): OpenAPIRegistry {
  const registry = new OpenAPIRegistry();
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    registry.registerComponent('securitySchemes', name, scheme);
  }
  for (const [name, header] of Object.entries(headers)) registry.registerComponent('headers', name, header);
  for (const { name, response } of errorResponseComponents()) {
    registry.registerComponent('responses', name, response);
  }
  for (const endpoint of endpoints) registerOperation(registry, endpoint);
  for (const message of webhookMessages()) registry.registerWebhook(message);
  return registry;
}

type Document = ReturnType<OpenApiGeneratorV31['generateDocument']>;

const SCHEMA_REFERENCE = /^#\/components\/schemas\/(\w+)$/;

/**
 * Puts the schemas that only messages refer to in the place of the references, with their names as titles: some
 * generators leave out what no path leads to, and still refer to it.
 */
function inlineMessageSchemas({ paths, webhooks, components = {}, ...document }: Document): object {
  const schemas: Record<string, unknown> = components.schemas ?? {};
  const reached = new Set<string>();
  const reach = (value: unknown) => {
    JSON.stringify(value, (_key, inner) => {
      const [, name] = SCHEMA_REFERENCE.exec(inner?.$ref) ?? [];
      if (name !== undefined && !reached.has(name)) {
        reached.add(name);
        reach(schemas[name]);
      }
      return inner;
    });
  };
  reach([paths, components.responses]);
  const inlined = (value: unknown): object =>
    JSON.parse(JSON.stringify(value), (_key, inner) => {
      const [, name] = SCHEMA_REFERENCE.exec(inner?.$ref) ?? [];
      return name === undefined || reached.has(name) ? inner : { title: name, ...inlined(schemas[name]) };
    });
  const left = Object.entries(schemas).filter(([name]) => reached.has(name));
  return {
    ...document,
    paths,
    components: { ...components, schemas: Object.fromEntries(left) },
    webhooks: inlined(webhooks),
  };
}

/** Returns the description of these endpoints, as an OpenAPI 3.1.0 document without servers. */
export function buildDocument(endpoints: readonly Endpoint[]): object {
  const named = [
    errorSchema,
    batchResultSchema,
    batchSummarySchema,
    reconcileLineSchema,
    reconcileResultSchema,
    reconcileSummarySchema,
  ].map((schema) => ({
    type: 'schema' as const,
    schema,
  }));
  const definitions = [...named, ...register(endpoints).definitions];
  const document = new OpenApiGeneratorV31(definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Chartledger',
      version,
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags,
  });
  return inlineMessageSchemas(document);
}
