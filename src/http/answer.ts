import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.ts';
import { discardBody } from './requestBody.ts';

/** What a handler answers: JSON from an object, bytes from a stream, or what it sends itself until the client has it. */
export interface Answer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  body: object | { stream: Readable } | { send(res: ServerResponse): Promise<void> };
}

/** Sends an answer; resolves when the last byte was handed over, or the client went away. */
export async function sendAnswer(
  { req, res, headers }: Pick<Exchange, 'req' | 'res' | 'headers'>,
  answer: Answer,
): Promise<void> {
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
  // A client that waits to be asked for its body may send it all the same, or not: nobody could tell what comes next.
  if (!req.complete && req.headers.expect !== undefined) res.shouldKeepAlive = false;
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
