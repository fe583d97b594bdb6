import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import express, { type Request } from 'express';
import type { Logger } from 'pino';
import { type FieldFault, faultOf } from '../../domain/records/schema/faults.ts';
import { formatPosition } from '../../modules/eventStream/position.ts';
import { DocumentMismatch } from '../../modules/records/queries/documents.ts';
import {
  describeError,
  type ErrorCode,
  type FieldMessage,
  ServiceError,
  UnreadableError,
} from '../../platform/errors.ts';
import type { RequestContext } from './requestContext.ts';

/** The one table from error codes to HTTP statuses (spec section 7). */
export const statusOf: Record<ErrorCode, number> = {
  validation_failed: 400,
  malformed_body: 400,
  reference_not_found: 400,
  unauthorized: 401,
  key_deactivated: 403,
  key_expired: 403,
  address_not_allowed: 403,
  workspace_deactivated: 403,
  permission_denied: 403,
  reason_required: 403,
  not_found: 404,
  gone: 410,
  previously_erased: 410,
  position_gone: 410,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  conflict: 409,
  return_pending: 409,
  idempotency_key_in_use: 409,
  version_conflict: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  not_implemented: 501,
  overloaded: 503,
  unavailable: 503,
  unreadable: 503,
};

/** Whether the same request may be accepted later, as far as its refusal tells. */
export function isRetryable(code: ErrorCode): boolean {
  return statusOf[code] === 429 || statusOf[code] === 503;
}

/** Returns the refusal of what is not HTTP as the service speaks it. */
export function notHttp(cause?: unknown): ServiceError {
  return new ServiceError('validation_failed', 'The request is not valid HTTP for this service.', { cause });
}

/** Returns the refusal of a path whose percent-encoding is broken. */
export function malformedPath(cause?: unknown): ServiceError {
  const message = 'The path is not valid: it must be percent-encoded UTF-8.';
  return new ServiceError('validation_failed', message, {
    details: [{ field: 'path', message: 'must be percent-encoded UTF-8' }],
    cause,
  });
}

/** Returns the error for failures of the service itself. */
export function internalError(cause?: unknown): ServiceError {
  return new ServiceError('internal', 'The service failed. Contact its operators and quote the request id.', {
    cause,
  });
}

/** Returns whatever was thrown as a `ServiceError`; any other error reveals nothing of itself to callers. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // All that Express and its router refuse is such a path, with a 4xx status.
  const status = (error as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number' && status >= 400 && status < 500) return malformedPath(error);
  return internalError(error);
}

/** Returns the response to a failed request: `{error, code, requestId}` and what the spec adds for some statuses. */
export function errorAnswer(error: ServiceError, requestId: string): Answer {
  const status = statusOf[error.code];
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(error.retryAfterSeconds);
  if (error.version !== undefined) headers.ETag = `"${error.version}"`;
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer realm="chartledger"';
  const body = {
    error: error.message,
    code: error.code,
    ...(error.details && { details: error.details }),
    ...(error.version !== undefined && { version: error.version }),
    ...(error.erasedAt !== undefined && { erased_at: error.erasedAt }),
    ...(error.lastPosition !== undefined && { last_position: formatPosition(error.lastPosition) }),
    ...(status === 401 && { statusCode: 401 }),
    ...(status === 429 && { retryAfter: error.retryAfterSeconds }),
    requestId,
  };
  return { status, headers, body };
}

/**
 * Returns the service's address as clients see it: `PUBLIC_URL`, otherwise the address that a request was sent to.
 * Throws `validation_failed` when that is not a valid one.
 */
export function addressOf(req: Request, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  const { localAddress, localPort } = req.socket;
  // HTTP 1.0 has no host.
  const host =
    req.get('host') ?? `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  const address = URL.parse(`${req.protocol}://${host}`);
  if (address === null) throw notHttp();
  return address.origin;
}

/** Slow links may take long for 250 MB. */
const LONG_BODY_MS = 3_600_000;

/** Bytes of a refused body that are read and discarded, so that the client gets to read why. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
/** One read of a connection brings up to this many. */
const BYTES_PER_TURN = 64 * 1024;
/** Event of a request: no more of its body will arrive, and the reason is a `ServiceError`. */
export const BROKEN_OFF = 'brokenOff';

/** Connections whose request was answered before all of its body had arrived. */
const answered = new WeakSet<Duplex>();
/** Connections on which a body is streamed that may take long. */
const longBodies = new WeakSet<Duplex>();

/** Returns the refusal of a request that does not arrive in time. */
export function tooSlow(): ServiceError {
  return new ServiceError('request_timeout', 'The request did not arrive in time. Send it again.');
}

/**
 * Asks a client for the body that it holds back until asked (`Expect: 100-continue`): everything that can be checked
 * before has been.
 */
export function inviteBody(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect !== undefined && req.httpVersionMinor === 1) res.writeContinue();
}

/** Whether the body on a connection may take long. */
export function isLongBody(connection: Duplex): boolean {
  return longBodies.has(connection);
}

/** Lets the body of a request take an hour while `work` reads it; others have seconds. */
export async function withLongBody<Result>(
  req: IncomingMessage,
  work: () => Promise<Result>,
): Promise<Result> {
  const { socket } = req;
  longBodies.add(socket);
  const timer = setTimeout(() => breakOff(req, tooSlow()), LONG_BODY_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    longBodies.delete(socket);
  }
}

/**
 * Tells the reader of a request's body, who then answers the request, that no more will arrive; false when nobody is
 * reading.
 */
export function breakOff(req: IncomingMessage, reason: ServiceError): boolean {
  return req.emit(BROKEN_OFF, reason);
}

/**
 * Lets through at most `BYTES_PER_TURN` of a body, and what one read brings, in each turn of the event loop. Node would read
 * 2 MB of each connection that has as much, and the other requests would wait for all of that.
 */
export function yieldToEventLoop(body: Readable): void {
  let bytes = 0;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < BYTES_PER_TURN) return;
    bytes = 0;
    body.pause();
    setImmediate(() => body.resume());
  });
}

/** Reads and discards what is left of the body of an answered request, up to a bound. */
function discardBody(req: IncomingMessage): void {
  const { socket } = req;
  let discarded = 0;
  answered.add(socket);
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) req.destroy();
  });
  yieldToEventLoop(req);
  req.on('end', () => answered.delete(socket));
  req.on('error', () => undefined);
  req.resume();
}

/** Whether the request that is still arriving on a connection has already been answered. */
export function isAnswered(connection: Duplex): boolean {
  return answered.has(connection);
}

/** Gathers bytes that arrive in pieces. Keeping the pieces themselves would take a hundred times their size where they are small. */
export class GatheredBytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** The number of bytes gathered. */
  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** Returns what was gathered, and holds nothing afterwards. */
  drain(): Buffer {
    const whole = this.#buffer.subarray(0, this.#length);
    const bytes = 4 * this.#length > 3 * this.#buffer.length ? whole : Buffer.from(whole);
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}

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

type Sender = Pick<RequestContext, 'req' | 'res' | 'headers'>;

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
  if ('send' in body) return streamBody(sender, status, body);
  const text = JSON.stringify(body);
  headers.push('Content-Type', `${type}; charset=utf-8`);
  const length = Buffer.byteLength(text);
  if (length >= MIN_COMPRESSED_BYTES && acceptsGzip(req, headers)) {
    return compress(text).then((zipped) => sendWhole(sender, status, zipped, zipped.length));
  }
  sendWhole(sender, status, text, length);
}

async function streamBody(
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
  res.end(req.method === 'HEAD' || status === 304 ? undefined : sent);
  if (!req.complete) discardBody(req);
}

/** Whether the client prefers a compressed response; if so, the headers are set accordingly. */
function acceptsGzip(req: Sender['req'], headers: string[]): boolean {
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
  const isCompressed = headers.includes(NDJSON) && isLong && acceptsGzip(req, headers);
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

/** Stands for fields that the interface does not know: their names are the caller's own data. */
export const UNKNOWN_FIELD = 'unknown_field';

/** Maximum number of fields reported for one refusal. */
export const MAX_FIELDS = 20;

/** Indexes into lists: `kinds.0` is a fault of `kinds`. */
const places = /\.\d+(?=\.|$)/g;

/**
 * Returns the names of the fields at fault that are among those known, without duplicates; none where the fault is
 * not in a field.
 */
export function failingFields(
  details: readonly FieldMessage[] | undefined,
  known: ReadonlySet<string> | undefined,
): string[] {
  return fieldFaults(details, known).map(({ field }) => field);
}

/** Returns the same with what is wrong with each: of several faults of one field the first. */
export function fieldFaults(
  details: readonly FieldMessage[] | undefined,
  known: ReadonlySet<string> | undefined,
): FieldFault[] {
  const faults = new Map<string, FieldFault>();
  for (const detail of details ?? []) {
    const name = detail.field.replace(places, '');
    const field = known?.has(name) ? name : UNKNOWN_FIELD;
    if (name !== '' && !faults.has(field)) faults.set(field, { ...faultOf(detail), field });
  }
  return [...faults.values()].slice(0, MAX_FIELDS);
}

/** Downloads aborted since the process began. */
let mismatches = 0;

/**
 * Reports a failure of the service itself, or of a store, to operators; what callers did wrong is in the request's
 * log line.
 */
export function logFailure(
  logger: Logger,
  failure: ServiceError,
  request: { requestId: string; route: string },
  what: 'request' | 'page',
): void {
  const { code, cause, problem } = failure;
  if (failure instanceof DocumentMismatch) {
    const { objectId } = failure;
    mismatches += 1;
    logger.error({ ...request, objectId, mismatches }, 'a stored document is not the one that was uploaded');
    return;
  }
  if (failure instanceof UnreadableError) {
    logger[code === 'internal' ? 'error' : 'warn'](
      { ...request, code, ...failure.place },
      'an event cannot be read; to find out why: chartledger verify --workspace ID',
    );
    return;
  }
  if (code !== 'internal' && code !== 'unavailable') return;
  const fields = { ...request, code, ...(problem && { problem }), error: describeError(cause) };
  if (code === 'internal') logger.error(fields, `a ${what} failed`);
  else logger.warn(fields, 'a store is unavailable');
}
