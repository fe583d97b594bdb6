import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import { catalog } from '../../records/catalog.ts';
import { version } from '../../version.ts';
import type { Endpoint } from '../endpoint/endpoint.ts';
import { batchResultSchema, batchSummarySchema } from '../endpoints/batch/batchSchemas.ts';
import { errorSchema } from './answerSchemas.ts';
import { errorResponseComponents } from './errorComponents.ts';
import { headers } from './headers.ts';
import { tagOf } from './kindNames.ts';
import { registerOperation } from './operation.ts';
import { webhookMessages } from './webhookMessages.ts';

const description = `
Chartledger takes patients, payers, providers, facilities, encounters and their documents from an electronic medical
record system (EMR) for billing. Each accepted write is one event in a history that is never changed.

**Authentication.** Send an API key in the header \`x-api-key\`, or as \`Authorization: Bearer\`; when both are there,
\`x-api-key\` counts. A key belongs to one workspace, reaches the data of that workspace alone, and has some of the
permissions \`write\`, \`read\`, \`events\`, \`events:deidentified\` and \`webhooks\`; \`write\` and \`read\` may be for one kind alone,
as \`write:encounter\` is. A key may expire, be taken from some networks alone, and have a rate limit of its own. Keys are for
servers only.

**Writing.** Records carry the \`id\` that your system gives them. A POST creates the record, or updates the one of that
\`id\`; sending it again does no harm. A status of 200 means that the write is durable. Send records before those that
refer to them: payers, patients, providers, facilities, encounters, documents.

**Warnings.** A field that is not known is not stored, and a value that billing is likely to refuse is stored; the
answer names both in \`warnings\`.

**Versions.** Each write of a record raises its \`version\` by one. Send \`If-Match\` with the version that you read to be
sure that nobody else wrote meanwhile, and \`If-None-Match: *\` to create only.

**Reading.** Answers hold every write that was answered before the request. Lists come in pages: pass \`next_page_token\`
on as \`page_token\` until it is \`null\`.

**Webhooks.** Events can be sent to a URL of yours, from any point of the history on; the messages are listed under
\`webhooks\`. They are signed as Standard Webhooks has it, arrive at least once, and in order for each record. Verify the
signature, refuse old timestamps, answer with a status of 200 to 299 within 15 seconds, and pass over a \`webhook-id\` that
you have seen.

**Parameters.** A query parameter that an operation does not know is refused with 400, and the known ones are named;
\`GET /healthz\` and \`GET /readyz\` take no notice of a query.

**Compression.** JSON may be sent with \`Content-Encoding: gzip\`; answers in JSON and JSON lines of 1 KB and more are compressed
for clients that accept it.

**Tracing.** \`X-Request-Id\` (up to 128 characters of printable ASCII) and \`traceparent\` of a request are kept beside its
own id, in the audit trail and in the service's log. Send no data of patients in them.

**Errors.** The body has \`error\` for people, \`code\` for programs, and \`requestId\`, which is also the header
\`Request-Id\` of every answer. Values that were refused are never repeated. An unknown path is answered with 404, another
method with 405 and \`Allow\`. Requests are limited by client IP address, or by the
key where that has a limit of its own; on 429 wait \`retryAfter\` seconds, on 503 as
long as \`Retry-After\` says, and send the request again.
`.trim();

const securitySchemes = {
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'An API key. This is the recommended way.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, as `Authorization: Bearer`. Not looked at when `x-api-key` is sent.',
  },
} as const;

const tags = [
  ...catalog.map((entry) => ({ name: tagOf(entry), description: entry.description })),
  { name: 'Search', description: 'Records and documents by what people know of them.' },
  { name: 'Batches', description: 'Many records with one request.' },
  { name: 'HL7 v2', description: 'Messages of HL7 v2.' },
  { name: 'Documents', description: 'PDF and DOCX files of an encounter.' },
  { name: 'Events', description: 'The stream of all events, and their catalogue.' },
  { name: 'Webhooks', description: 'Endpoints to which events are sent, signed.' },
  { name: 'Requests', description: 'What was refused, and why.' },
  { name: 'Service', description: 'The service itself: its description and its health.' },
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
  for (const message of webhookMessages) registry.registerWebhook(message);
  return registry;
}

/** The description of these endpoints, as an OpenAPI 3.1.0 document; `publicUrl`: the service's address, where it is known. */
export function buildDocument(endpoints: readonly Endpoint[], publicUrl?: string): object {
  const named = [errorSchema, batchResultSchema, batchSummarySchema].map((schema) => ({
    type: 'schema' as const,
    schema,
  }));
  const definitions = [...named, ...register(endpoints).definitions];
  return new OpenApiGeneratorV31(definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Chartledger',
      version,
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl ?? '/', description: 'The service that serves this document' }],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags,
  });
}
