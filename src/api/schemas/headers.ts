import { z } from 'zod';
import { PATCH_TYPES } from '../server/body.ts';
import { idempotencyKeyForm } from '../server/idempotency.ts';
import { documentExample, exampleRequestId } from './examples.ts';

/** Response headers, as components of the document. */
export const headers = {
  'Request-Id': {
    description: 'Id of the request; quote it when contacting the operators of the service.',
    schema: { type: 'string', format: 'uuid' },
    example: exampleRequestId,
  },
  ETag: {
    description:
      'The version, in quotes. Send it as `If-Match` to write only if nobody else has written in the ' +
      'meantime, or as `If-None-Match` to read only what has changed. In a compressed response it is weak: ' +
      '`W/"2"`. For a history, a schema or a description of the API, a digest.',
    schema: { type: 'string' },
    example: '"2"',
  },
  'Cache-Control': {
    description: 'How many seconds the response may be reused without asking again.',
    schema: { type: 'string' },
    example: 'private, max-age=3600',
  },
  'RateLimit-Policy': {
    description:
      'The limit on requests from one client IP address (for IPv6, one /64): `q` requests in a window of `w` seconds. Not ' +
      'sent if the limit is off.',
    schema: { type: 'string' },
    example: '"default";q=100;w=60',
  },
  RateLimit: {
    description:
      'What remains of the limit: `r` requests for the next `t` seconds. Not sent if the limit is off.',
    schema: { type: 'string' },
    example: '"default";r=83;t=42',
  },
  'Retry-After': {
    description: 'Seconds to wait before sending the request again.',
    schema: { type: 'integer', minimum: 1 },
    example: 17,
  },
  'Idempotent-Replayed': {
    description:
      '`true` if the response is that of an earlier request with the same `Idempotency-Key`: nothing was ' +
      'written this time.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: { type: 'string' },
    example: 'Bearer realm="chartledger"',
  },
  'Accept-Patch': {
    description: 'The media types that patches can have.',
    schema: { type: 'string' },
    example: PATCH_TYPES.join(', '),
  },
  'Content-Disposition': {
    description: 'The name of the file.',
    schema: { type: 'string' },
    example: `attachment; filename*=UTF-8''${documentExample.filename}`,
  },
  'Content-Length': {
    description: 'Size of the file in bytes.',
    schema: { type: 'integer', minimum: 0 },
    example: documentExample.size,
  },
  'Chartledger-Position': {
    description:
      'For a page of events: where to continue. Send it as `after` to read what follows. Not sent with ' +
      'server-sent events, which have it as `id`. For a list of records: a position up to which the list ' +
      'includes every write. Send it as `updated_since` to read later changes.',
    schema: { type: 'string' },
    example: '0000000000008136',
  },
  'Accept-Ranges': {
    description: 'Parts of the file can be requested with `Range`.',
    schema: { type: 'string' },
    example: 'bytes',
  },
  'Content-Range': {
    description:
      'Which part of the file the response contains, and the size of the file; with 416, only the size.',
    schema: { type: 'string' },
    example: `bytes 0-1023/${documentExample.size}`,
  },
  'Repr-Digest': {
    description: 'SHA-256 of the whole file (RFC 9530).',
    schema: { type: 'string' },
    example: `sha-256=:${Buffer.from(documentExample.sha256, 'hex').toString('base64')}:`,
  },
} as const;

export type HeaderName = keyof typeof headers;

/** Returns references to the headers' components. */
export function headerRefs(...names: HeaderName[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The `Idempotency-Key` header of requests that write, as described in the document. */
export const idempotencyKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .regex(idempotencyKeyForm)
    .optional()
    .meta({
      description:
        'A unique name for this request: 1 to 255 printable ASCII characters, such as a UUID. If the ' +
        'request is sent again with the same key within 24 hours, nothing is written and the response is ' +
        'the same as the first time. Each API key has its own idempotency keys',
      examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
    }),
});
