import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.ts';

/** What a handler answers: JSON from an object, bytes from a stream, or what it sends itself until the client has it. */
export interface Answer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  body: object | { stream: Readable } | { send(res: ServerResponse): Promise<void> };
}

/** Bytes of a refused body that are read and thrown away, so that the client gets to read why. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Sends an answer; resolves when the last byte was handed over, or the client went away. */
export async function sendAnswer({ req, res, headers }: Exchange, answer: Answer): Promise<void> {
  const { status = 200, body } = answer;
  if (res.destroyed) {
    if ('stream' in body) body.stream.destroy();
    return;
  }
  for (const name in answer.headers) headers.push(name, answer.headers[name] as string);
  if ('stream' in body) {
    res.writeHead(status, headers);
    if (req.method === 'HEAD') {
      body.stream.destroy();
      res.end();
    } else {
      await sendStream(body.stream, res);
    }
    return;
  }
  if ('send' in body) {
    res.writeHead(status, headers);
    if (req.method !== 'HEAD') await body.send(res);
    res.end();
    return;
  }
  const text = JSON.stringify(body);
  headers.push(
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    `${Buffer.byteLength(text)}`,
  );
  res.writeHead(status, headers);
  // A text leaves together with the head in one write; a buffer would be a second one.
  res.end(req.method === 'HEAD' ? undefined : text);
  if (!req.complete) discardBody(req);
}

async function sendStream(stream: Readable, res: ServerResponse): Promise<void> {
  try {
    await pipeline(stream, res);
  } catch (error) {
    // A client that goes away in the middle is no failure of the service.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

function discardBody(req: IncomingMessage): void {
  let discarded = 0;
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) req.destroy();
  });
  req.on('error', () => undefined);
  req.resume();
}
