import { Readable } from 'node:stream';
import express, { type Request } from 'express';

/** A request that nobody sent over the network. */
export interface HeldRequest {
  method: string;
  /** The path with its query, as it would be sent. */
  url: string;
  /** Decoded, by name. */
  params: Record<string, string>;
  query: Record<string, string>;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string | undefined;
}

/**
 * Returns that request in the form that endpoints read; `sender` is the request that made it, whose connection and
 * address it shares.
 */
export function heldRequest(held: HeldRequest, sender: Request): Request {
  const { method, url, params, query, headers, body } = held;
  const bytes = body === undefined ? [] : [Buffer.from(body)];
  const all = {
    ...headers,
    ...(sender.headers.host !== undefined && { host: sender.headers.host }),
    ...(bytes[0] && { 'content-length': String(bytes[0].length) }),
    'accept-encoding': 'identity',
  };
  return Object.assign(Readable.from(bytes, { objectMode: false }), {
    ...{ method, url, originalUrl: url, params, query, headers: all },
    headersDistinct: Object.fromEntries(Object.entries(all).map(([name, value]) => [name, [value]])),
    ...{ complete: true, httpVersion: '1.1', socket: sender.socket, protocol: sender.protocol },
    ...{ get: express.request.get, accepts: express.request.accepts },
  }) as unknown as Request;
}
