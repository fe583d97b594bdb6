import { MIMEType, promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ServiceError } from '../../errors.ts';
import type { Exchange } from './exchange.ts';
import { BROKEN_OFF, inviteBody } from './requestBody.ts';

/** A JSON Merge Patch (RFC 7396). */
export const MERGE_PATCH = 'application/merge-patch+json';

/** Media types of JSON that bodies have. */
export type JsonType = 'application/json' | typeof MERGE_PATCH;

/** 1 MB, as mebibytes. */
const MAX_BODY_BYTES = 1024 * 1024;

const unzip = promisify(gunzip);
const decoder = new TextDecoder('utf-8', { fatal: true });
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

type BodyExchange = Pick<Exchange, 'req' | 'res' | 'bodies'>;

/** The refusal of a body beyond what is taken. */
export function bodyTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The body is larger than 1 MB.');
}

/** The refusal of a body that is no JSON; `reason` says why: `is not valid JSON`. */
export function malformedBody(reason: string): ServiceError {
  return new ServiceError('malformed_body', `The body ${reason}.`);
}

/** The refusal of a body of another type. */
export function notJson(type: JsonType = 'application/json'): ServiceError {
  return new ServiceError('unsupported_media_type', `Send the body as Content-Type: ${type}, in UTF-8.`);
}

/** Whether a Content-Type is this type of JSON in UTF-8; parameters beside `charset` mean nothing. */
function isJsonType(header: string, type: JsonType): boolean {
  if (header === type) return true;
  try {
    const { essence, params } = new MIMEType(header);
    return essence === type && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

async function collect({ req, res, bodies }: BodyExchange): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw bodyTooLarge();
  inviteBody(req, res);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const fail = (error: Error) => {
      req.removeAllListeners('data');
      bodies.json.give(length);
      length = 0;
      reject(error);
    };
    req.on('data', (chunk: Buffer) => {
      if (length + chunk.length > MAX_BODY_BYTES) {
        fail(bodyTooLarge());
        return;
      }
      try {
        bodies.json.take(chunk.length);
      } catch (error) {
        fail(error as ServiceError);
        return;
      }
      length += chunk.length;
      chunks.push(chunk);
    });
    req.on('end', () => {
      bodies.json.give(length);
      length = 0;
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    req.on('error', () => fail(malformedBody('broke off')));
    req.on(BROKEN_OFF, fail);
  });
}

/** What a body was before it was compressed; of no more bytes than one may have that was not. */
async function decompressed(bytes: Buffer): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge();
    throw malformedBody('is not valid gzip');
  }
}

function requireWellFormed(_key: string, value: unknown): unknown {
  if (typeof value === 'string' && !value.isWellFormed())
    throw malformedBody('holds a lone surrogate, which is not Unicode');
  return value;
}

/**
 * The JSON body of a request, which may be compressed with gzip. Rejects with `unsupported_media_type`,
 * `payload_too_large` (over 1 MB, compressed or not), `malformed_body`, `request_timeout` or `overloaded`; no part of
 * the body is in the error.
 */
export async function readJson(
  exchange: BodyExchange,
  type: JsonType = 'application/json',
): Promise<unknown> {
  const { req } = exchange;
  if (!isJsonType(req.headers['content-type'] ?? '', type)) {
    throw notJson(type);
  }
  const encoding = req.headers['content-encoding'];
  const isCompressed = encoding !== undefined && /^(?:x-)?gzip$/i.test(encoding);
  if (encoding !== undefined && encoding !== 'identity' && !isCompressed) {
    throw new ServiceError(
      'unsupported_media_type',
      'Send the body as it is, or with Content-Encoding: gzip.',
    );
  }
  const received = await collect(exchange);
  const bytes = isCompressed ? await decompressed(received) : received;
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw malformedBody('is not valid UTF-8');
  }
  try {
    return SURROGATE_ESCAPE.test(text) ? JSON.parse(text, requireWellFormed) : JSON.parse(text);
  } catch (error) {
    throw error instanceof ServiceError ? error : malformedBody('is not valid JSON');
  }
}
