import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** What a handler answers: JSON from an object, or bytes from a stream. */
export interface Answer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  body: object | { stream: Readable };
}

/** Bytes of a refused body that are read and thrown away, so that the client gets to read why. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Sends an answer; resolves when the last byte was handed over, or the client went away. */
export async function sendAnswer(req: IncomingMessage, res: ServerResponse, answer: Answer): Promise<void> {
  if (res.destroyed) return;
  const { status = 200, headers = {}, body } = answer;
  if ('stream' in body) {
    res.writeHead(status, headers);
    if (req.method === 'HEAD') {
      body.stream.destroy();
      res.end();
    } else {
      await pipeline(body.stream, res);
    }
    return;
  }
  const bytes = Buffer.from(JSON.stringify(body));
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  });
  res.end(req.method === 'HEAD' ? undefined : bytes);
  if (!req.complete) discardBody(req);
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
