import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { createGunzip } from 'node:zlib';
import { ServiceError } from '../../platform/errors.ts';
import type { BudgetShare } from '../../platform/threads/fairBudget.ts';
import { BROKEN_OFF, GatheredBytes, inviteBody, yieldToEventLoop } from './answer.ts';
import { ownersOf, reserveShare } from './loadShedder.ts';
import type { RequestContext } from './requestContext.ts';

/** How deeply the objects and arrays of a JSON text may be nested: far more than those of any format that is accepted. */
export const MAX_DEPTH = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** `{` and `}`; `[` and `]` differ from these in one bit. */
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SAME = 0x20;

/**
 * Returns about how many values a JSON text has: its commas, objects and arrays. It builds none of them, so that what is beyond
 * a bound costs nothing: the shortest value has two bytes, and takes thirty times as many once it is parsed. Counts no further than
 * just beyond `most`; a text that is nested more deeply than `MAX_DEPTH` has infinitely many.
 */
export function valuesIn(json: Uint8Array, most: number): number {
  const { length } = json;
  let values = 0;
  let depth = 0;
  for (let at = 0; at < length && values <= most; at += 1) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COMMA) values += 1;
    else if ((byte | SAME) === OPEN) {
      values += 1;
      depth += 1;
      if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
    } else if ((byte | SAME) === CLOSE) depth -= 1;
  }
  return values;
}

/** Returns where the string that begins at `start` ends: at its quote, or at the end of the text. */
function endOfString(json: Uint8Array, start: number): number {
  const { length } = json;
  let at = start;
  for (; at < length && json[at] !== QUOTE; at += 1) if (json[at] === BACKSLASH) at += 1;
  return at;
}

/** A JSON Merge Patch (RFC 7396). */
const MERGE_PATCH = 'application/merge-patch+json';

/** Media types of JSON bodies. */
const JSON_TYPES = ['application/json'] as const;
/** Media types of patches: many clients send only the second one. */
export const PATCH_TYPES = [MERGE_PATCH, 'application/json'] as const;
type JsonTypes = typeof JSON_TYPES | typeof PATCH_TYPES;

const MEBIBYTE = 1024 * 1024;
/** 1 MB, as mebibytes. */
export const MAX_BODY_BYTES = MEBIBYTE;
/** Values of a body, or of a line of one: a record has some fifty. */
export const MAX_VALUES = 5_000;
/** What a value counts as, apart from its text: as many as a FHIR body may have then fit into the share of one key. */
const VALUE_BYTES = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
/** Output of gzip comes, and is counted, in pieces of this size: smaller ones take more time. */
export const UNZIPPED_AT_A_TIME = 64 * 1024;

type BodyContext = Pick<
  RequestContext,
  'req' | 'res' | 'bodies' | 'load' | 'held' | 'found' | 'requireAdmitted'
>;

/** Returns the refusal of a body that is too large. */
export function bodyTooLarge(maxBytes = MAX_BODY_BYTES): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than ${maxBytes / MEBIBYTE} MB.`);
}

/** Returns the refusal of a body, or of a line of one, that has too many values, or is nested too deeply. */
export function tooManyValues(most: number, what: 'body' | 'line' = 'body'): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The ${what} has more than ${most.toLocaleString('en-US')} values, or is nested more than ${MAX_DEPTH} levels deep.`,
  );
}

/** Returns the refusal of a body, or of a line of one, that is not JSON; `reason` says why: `is not valid JSON`. */
export function malformedBody(reason: string, what: 'body' | 'line' = 'body'): ServiceError {
  return new ServiceError('malformed_body', `The ${what} ${reason}.`);
}

/** Returns the refusal of a body of another type. */
export function notJson(types: JsonTypes = JSON_TYPES): ServiceError {
  const named = types.join(' or ');
  return new ServiceError('unsupported_media_type', `Send the body in UTF-8 with Content-Type: ${named}.`);
}

/** The names of UTF-8, and of ASCII, which is a part of it (IANA Character Sets). */
const utf8 =
  /^(?:utf-?8|csutf8|unicode-1-1-utf-8|(?:us-)?ascii|us|iso646-us|iso-ir-6|iso_646\.irv:1991|ansi_x3\.4-19(?:68|86)|(?:ibm|cp)367|csascii)$/i;

/** Whether a Content-Type is this one, in UTF-8 or ASCII; parameters other than `charset` are ignored. */
export function isUtf8Type(header: string, type: string): boolean {
  if (header === type) return true;
  try {
    const { essence, params } = new MIMEType(header);
    return essence === type && utf8.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

async function collect({ req, res }: BodyContext, maxBytes: number, held: BudgetShare): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  inviteBody(req, res);
  return new Promise((resolve, reject) => {
    const body = new GatheredBytes();
    const fail = (error: unknown) => {
      req.removeAllListeners('data');
      reject(error);
    };
    req.on('data', (chunk: Buffer) => {
      try {
        if (body.length + chunk.length > maxBytes) throw bodyTooLarge(maxBytes);
        reserveShare(held, chunk.length);
        body.add(chunk);
      } catch (error) {
        fail(error);
      }
    });
    yieldToEventLoop(req);
    req.on('end', () => resolve(body.drain()));
    req.on('error', () => fail(malformedBody('is incomplete')));
    req.on(BROKEN_OFF, fail);
  });
}

/** Decompresses a body; the result may have no more bytes than an uncompressed body, and counts as such. */
async function decompressed(bytes: Buffer, maxBytes: number, held: BudgetShare): Promise<Buffer> {
  const unzip = createGunzip({ chunkSize: UNZIPPED_AT_A_TIME });
  unzip.end(bytes);
  const body = new GatheredBytes();
  try {
    for await (const chunk of unzip) {
      if (body.length + chunk.length > maxBytes) throw bodyTooLarge(maxBytes);
      reserveShare(held, chunk.length);
      body.add(chunk);
    }
    return body.drain();
  } catch (error) {
    throw error instanceof ServiceError ? error : malformedBody('is not valid gzip');
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

/**
 * Parses JSON in UTF-8 whose values were counted (`valuesIn`). Throws `malformed_body`; no part of the JSON is in the error.
 */
export function parseJson(bytes: Buffer, what: 'body' | 'line' = 'body'): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw malformedBody('is not valid UTF-8', what);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformedBody('is not valid JSON', what);
  }
  if (SURROGATE_ESCAPE.test(text) && !isWellFormed(value))
    throw malformedBody('contains a lone surrogate, which is not valid Unicode', what);
  return value;
}

/** Whether no text within a value has a lone surrogate; the names of fields may. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  return typeof value !== 'object' || value === null || Object.values(value).every(isWellFormed);
}

/** A body, as it arrived, decompressed. */
interface Body {
  bytes: Buffer;
  /** What it holds of the budget, until it is handled. */
  share: BudgetShare;
}

/**
 * Resolves with the bytes of a request's body, which may be compressed with gzip; from then on the request counts
 * among those being worked on, and its body against the budget until it is handled. Rejects with
 * `unsupported_media_type`, `payload_too_large` (over `maxBytes`, compressed or not), `malformed_body`,
 * `request_timeout`, `overloaded`, or the refusal of a key that was changed meanwhile; no part of the body is in the error.
 */
export async function readBody(context: BodyContext, maxBytes = MAX_BODY_BYTES): Promise<Body> {
  const compressed = isCompressed(context.req);
  const { json } = context.bodies;
  const arriving = json.share(ownersOf(context));
  const held = compressed ? json.share(ownersOf(context)) : arriving;
  try {
    const received = await collect(context, maxBytes, arriving);
    const bytes = compressed ? await decompressed(received, maxBytes, held) : received;
    context.requireAdmitted();
    context.load.enter(context, held);
    if (compressed) arriving.release();
    return { bytes, share: held };
  } catch (error) {
    arriving.release();
    held.release();
    throw error;
  }
}

/**
 * Parses a body of at most that many values, which count against the budget. Throws `payload_too_large`, `overloaded`, and as
 * `parseJson` does.
 */
export function parseBody({ bytes, share }: Body, mostValues = MAX_VALUES): unknown {
  const values = valuesIn(bytes, mostValues);
  if (values > mostValues) throw tooManyValues(mostValues);
  reserveShare(share, VALUE_BYTES * values);
  return parseJson(bytes);
}

/**
 * Resolves with the JSON body of a request, of at most 1 MB and that many values. Rejects as `readBody` does, and with
 * `unsupported_media_type` for another type.
 */
export async function readJson(
  context: BodyContext,
  types: JsonTypes = JSON_TYPES,
  mostValues = MAX_VALUES,
): Promise<unknown> {
  const sent = context.req.headers['content-type'] ?? '';
  if (!types.some((type) => isUtf8Type(sent, type))) throw notJson(types);
  return parseBody(await readBody(context), mostValues);
}
