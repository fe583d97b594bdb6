import type { IncomingMessage } from 'node:http';
import { MIMEType, promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ServiceError } from '../../errors.ts';
import { ownersOf, takeFrom } from './BodyBudget.ts';
import type { Exchange } from './exchange.ts';
import { BROKEN_OFF, inviteBody } from './requestBody.ts';

/** A JSON Merge Patch (RFC 7396). */
export const MERGE_PATCH = 'application/merge-patch+json';

/** Media types of JSON bodies. */
export type JsonType = 'application/json' | typeof MERGE_PATCH;

const MEBIBYTE = 1024 * 1024;
/** 1 MB, as mebibytes. */
export const MAX_BODY_BYTES = MEBIBYTE;

const unzip = promisify(gunzip);
const decoder = new TextDecoder('utf-8', { fatal: true });
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

type BodyExchange = Pick<Exchange, 'req' | 'res' | 'bodies' | 'load' | 'found'>;

/** Returns the refusal of a body that is too large. */
export function bodyTooLarge(maxBytes = MAX_BODY_BYTES): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than ${maxBytes / MEBIBYTE} MB.`);
}

/** Returns the refusal of a body, or of a line of one, that is not JSON; `reason` says why: `is not valid JSON`. */
export function malformedBody(reason: string, what: 'body' | 'line' = 'body'): ServiceError {
  return new ServiceError('malformed_body', `The ${what} ${reason}.`);
}

/** Returns the refusal of a body of another type. */
export function notJson(type: JsonType = 'application/json'): ServiceError {
  return new ServiceError('unsupported_media_type', `Send the body in UTF-8 with Content-Type: ${type}.`);
}

/** Whether a Content-Type is this one, in UTF-8; parameters other than `charset` are ignored. */
export function isUtf8Type(header: string, type: string): boolean {
  if (header === type) return true;
  try {
    const { essence, params } = new MIMEType(header);
    return essence === type && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

async function collect(exchange: BodyExchange, maxBytes: number): Promise<Buffer> {
  const { req, res, bodies } = exchange;
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  inviteBody(req, res);
  const share = bodies.json.share(ownersOf(exchange));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const fail = (error: Error) => {
      req.removeAllListeners('data');
      share.giveAll();
      reject(error);
    };
    req.on('data', (chunk: Buffer) => {
      if (length + chunk.length > maxBytes) {
        fail(bodyTooLarge(maxBytes));
        return;
      }
      try {
        takeFrom(share, chunk.length);
      } catch (error) {
        fail(error as ServiceError);
        return;
      }
      length += chunk.length;
      chunks.push(chunk);
    });
    req.on('end', () => {
      share.giveAll();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    req.on('error', () => fail(malformedBody('is incomplete')));
    req.on(BROKEN_OFF, fail);
  });
}

/** Decompresses a body; the result may have no more bytes than an uncompressed body. */
async function decompressed(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBytes);
    throw malformedBody('is not valid gzip');
  }
}

/** Whether a body is compressed with gzip. Throws `unsupported_media_type` for any other compression. */
export function isCompressed({ headers }: IncomingMessage): boolean {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return false;
  if (/^(?:x-)?gzip$/i.test(encoding)) return true;
  throw new ServiceError(
    'unsupported_media_type',
    'Send the body uncompressed, or with Content-Encoding: gzip.',
  );
}

/** Parses JSON in UTF-8. Throws `malformed_body`; no part of the JSON is in the error. */
export function parseJson(bytes: Buffer, what: 'body' | 'line' = 'body'): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw malformedBody('is not valid UTF-8', what);
  }
  const requireWellFormed = (_key: string, value: unknown) => {
    if (typeof value === 'string' && !value.isWellFormed())
      throw malformedBody('contains a lone surrogate, which is not valid Unicode', what);
    return value;
  };
  try {
    return SURROGATE_ESCAPE.test(text) ? JSON.parse(text, requireWellFormed) : JSON.parse(text);
  } catch (error) {
    throw error instanceof ServiceError ? error : malformedBody('is not valid JSON', what);
  }
}

/**
 * Resolves with the bytes of a request's body, which may be compressed with gzip; from then on the request counts
 * among those being worked on. Rejects with `unsupported_media_type`, `payload_too_large` (over `maxBytes`,
 * compressed or not), `malformed_body`, `request_timeout` or `overloaded`; no part of the body is in the error.
 */
export async function readBody(exchange: BodyExchange, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  const compressed = isCompressed(exchange.req);
  const received = await collect(exchange, maxBytes);
  exchange.load.enter(exchange);
  return compressed ? decompressed(received, maxBytes) : received;
}

/**
 * Resolves with the JSON body of a request, of at most 1 MB. Rejects as `readBody` does, and with
 * `unsupported_media_type` for another type.
 */
export async function readJson(
  exchange: BodyExchange,
  type: JsonType = 'application/json',
): Promise<unknown> {
  if (!isUtf8Type(exchange.req.headers['content-type'] ?? '', type)) {
    throw notJson(type);
  }
  return parseJson(await readBody(exchange));
}
