import { documentExample, exampleRequestId } from './examples.ts';

/** Headers of answers, as components of the document. */
export const headers = {
  'Request-Id': {
    description: 'Id of the request; quote it to the operators of the service.',
    schema: { type: 'string', format: 'uuid' },
    example: exampleRequestId,
  },
  ETag: {
    description:
      'The version, in quotes. Send it as `If-Match` to write only when nobody else did meanwhile.',
    schema: { type: 'string' },
    example: '"2"',
  },
  'RateLimit-Policy': {
    description:
      'The limit on requests from one client IP address: `q` requests in a window of `w` seconds. Not sent where the limit is off.',
    schema: { type: 'string' },
    example: '"default";q=100;w=60',
  },
  RateLimit: {
    description: 'What is left of the limit: `r` requests, for `t` seconds. Not sent where the limit is off.',
    schema: { type: 'string' },
    example: '"default";r=83;t=42',
  },
  'Retry-After': {
    description: 'Seconds to wait before the request is sent again.',
    schema: { type: 'integer', minimum: 1 },
    example: 17,
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: { type: 'string' },
    example: 'Bearer realm="chartledger"',
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
  'Repr-Digest': {
    description: 'SHA-256 of the file (RFC 9530).',
    schema: { type: 'string' },
    example: `sha-256=:${Buffer.from(documentExample.sha256, 'hex').toString('base64')}:`,
  },
} as const;

export type HeaderName = keyof typeof headers;

/** References to the headers' components. */
export function headerRefs(...names: HeaderName[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
