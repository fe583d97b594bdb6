import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import express from 'express';
import type { Exchange } from './exchange.ts';
import { discardBody } from './requestBody.ts';

/** What a handler returns: JSON from an object, or a stream. */
export interface Answer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  /** Media type of a JSON body; default: `application/json`. */
  type?: string;
  body: object | Streamed;
}

/** A body that is not JSON: bytes from a stream, or something that sends itself until the client has it. */
export type Streamed = { stream: Readable } | { send(res: ServerResponse): Promise<void> };

/** A response with status 200 whose body is streamed. */
export interface StreamedAnswer {
  headers: Record<string, string>;
  body: Streamed;
}

/** Media type of JSON Lines. */
export const NDJSON = 'application/x-ndjson';

/** Smaller bodies are not worth compressing. */
const MIN_COMPRESSED_BYTES = 1_024;
const compress = promisify(gzip);

type Sender = Pick<Exchange, 'req' | 'res' | 'headers'>;

/**
 * Sends a response, synchronously if it is a small one; otherwise resolves when the last byte was handed over, or the
 * client went away.
 */
export function sendAnswer(sender: Sender, answer: Answer): void | Promise<void> {
  const { req, res, headers } = sender;
  const { status = 200, type = 'application/json', body } = answer;
  if (res.destroyed) {
    if ('stream' in body) body.stream.destroy();
    return;
  }
  for (const name in answer.headers) headers.push(name, answer.headers[name] as string);
  if ('stream' in body) return sendStream(sender, status, body.stream);
  if ('send' in body) return letSend(sender, status, body);
  const text = JSON.stringify(body);
  headers.push('Content-Type', `${type}; charset=utf-8`);
  const length = Buffer.byteLength(text);
  if (length >= MIN_COMPRESSED_BYTES && takesGzip(req, headers)) {
    return compress(text).then((zipped) => sendWhole(sender, status, zipped, zipped.length));
  }
  sendWhole(sender, status, text, length);
}

async function letSend(
  { req, res, headers }: Sender,
  status: number,
  body: Extract<Streamed, { send: unknown }>,
): Promise<void> {
  res.writeHead(status, headers);
  if (req.method !== 'HEAD') await body.send(res);
  res.end();
}

function sendWhole(
  { req, res, headers }: Sender,
  status: number,
  sent: string | Buffer,
  length: number,
): void {
  headers.push('Content-Length', `${length}`);
  // A client that waits to be asked for its body may or may not send it anyway: what comes next would be ambiguous.
  if (!req.complete && req.headers.expect !== undefined) res.shouldKeepAlive = false;
  res.writeHead(status, headers);
  // A text leaves together with the head in one write; a buffer would be a second one.
  res.end(req.method === 'HEAD' ? undefined : sent);
  if (!req.complete) discardBody(req);
}

/** Whether the client prefers a compressed response; if so, the headers are set accordingly. */
function takesGzip(req: Sender['req'], headers: string[]): boolean {
  headers.push('Vary', 'Accept-Encoding');
  // Requests that were found without the router lack what Express adds to them.
  if (express.request.acceptsEncodings.call(req, 'gzip', 'identity') !== 'gzip') return false;
  headers.push('Content-Encoding', 'gzip');
  // Different bytes for the same thing: a strong tag would name only these (RFC 9110, section 8.8.3).
  const tag = headers.indexOf('ETag') + 1;
  if (tag > 0) headers[tag] = `W/${headers[tag]}`;
  return true;
}

async function sendStream({ req, res, headers }: Sender, status: number, stream: Readable): Promise<void> {
  const length = headers.indexOf('Content-Length');
  // A body without a length is produced while it is sent, and may be long.
  const isLong = length === -1 || Number(headers[length + 1]) >= MIN_COMPRESSED_BYTES;
  const isCompressed = headers.includes(NDJSON) && isLong && takesGzip(req, headers);
  if (isCompressed && length !== -1) headers.splice(length, 2);
  res.writeHead(status, headers);
  if (req.method === 'HEAD') {
    stream.destroy();
    res.end();
    return;
  }
  try {
    await (isCompressed ? pipeline(stream, createGzip(), res) : pipeline(stream, res));
  } catch (error) {
    // A client that goes away midway is not a failure of the service.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
