import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { isJsonObject } from '../../domain/events/event.ts';
import type { BatchLine } from '../../modules/records/commands/batchOrder.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { BudgetShare } from '../../platform/threads/fairBudget.ts';
import { batchTooLarge, notAnArray, notLines } from '../schemas/errors.ts';
import { BROKEN_OFF, GatheredBytes, inviteBody, NDJSON, yieldToEventLoop } from '../server/answer.ts';
import {
  isCompressed,
  isUtf8Type,
  MAX_BODY_BYTES,
  MAX_VALUES,
  malformedBody,
  parseJson,
  readJson,
  tooManyValues,
  UNZIPPED_AT_A_TIME,
  valuesIn,
} from '../server/body.ts';
import { reserveShare } from '../server/loadShedder.ts';
import type { RequestContext } from '../server/requestContext.ts';

/** How most clients begin a line: its kind is then known without parsing it. */
const BEGINNING = /^\s*\{\s*"kind"\s*:\s*"([a-z_]+)"/;
const BEGINNING_BYTES = 80;

/** A line of a JSON Lines body; without its bytes, where it was too large to be kept. */
export class TextLine implements BatchLine {
  readonly number: number;
  readonly seemingKind: string | undefined;
  readonly bytes: Buffer | undefined;
  readonly #refusal: ServiceError | undefined;

  /** `refusal`: why it is not read; otherwise its values were counted. */
  constructor(number: number, bytes: Buffer | undefined, refusal: ServiceError | undefined) {
    this.number = number;
    this.bytes = bytes;
    this.#refusal = refusal;
    this.seemingKind = bytes && BEGINNING.exec(bytes.toString('latin1', 0, BEGINNING_BYTES))?.[1];
  }

  read(): unknown {
    if (this.#refusal) throw this.#refusal;
    return parseJson(this.bytes as Buffer, 'line');
  }
}

/** Limits of a batch: total bytes (64 MB, as mebibytes), and lines. */
export const MAX_BATCH_BYTES = 64 * 1024 * 1024;
export const MAX_LINES = 100_000;
/** Values of all lines: 64 MB of records have about four million. */
const MAX_BATCH_VALUES = 5_000_000;

const NEWLINE = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Returns the refusal of a line that is too large. */
function lineTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The line is larger than ${maxBytes / 1024 / 1024} MB.`);
}

/** Limits of each line. */
interface LineLimits {
  bytes: number;
  values: number;
}

const recordLimits: LineLimits = { bytes: MAX_BODY_BYTES, values: MAX_VALUES };

/** Limits of a body of lines that are all held until the last one has arrived. */
const heldLimits = { bytes: MAX_BATCH_BYTES, lines: MAX_LINES, values: MAX_BATCH_VALUES };
/** Of a body whose lines are taken as they arrive. */
const NO_LIMITS: typeof heldLimits = { bytes: Infinity, lines: Infinity, values: Infinity };

/**
 * Splits the bytes of a body into lines as they arrive. Blank lines are numbered, and skipped; there may be as many of
 * them as of others.
 */
class LineSplitter {
  readonly #limits: LineLimits;
  readonly #totals: typeof heldLimits;
  #lines: TextLine[] = [];
  /** What has arrived of the current line, unless it is too large. */
  readonly #parts = new GatheredBytes();
  #partBytes = 0;
  #bytes = 0;
  #values = 0;
  #number = 1;
  #blankLines = 0;

  constructor(limits = recordLimits, totals = heldLimits) {
    this.#limits = limits;
    this.#totals = totals;
  }

  /** Takes more bytes. Throws `payload_too_large`. */
  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#totals.bytes) throw batchTooLarge();
    let begin = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      this.#endLine(chunk.subarray(begin, end));
      begin = end + 1;
    }
    if (begin < chunk.length) this.#buffer(chunk.subarray(begin));
  }

  /** Returns the whole lines that have not been taken. */
  take(): TextLine[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** Returns the lines that have not been taken, once all bytes have arrived. Throws `payload_too_large`. */
  end(): TextLine[] {
    this.#endLine(Buffer.alloc(0));
    return this.take();
  }

  #buffer(part: Buffer): void {
    this.#partBytes += part.length;
    if (this.#partBytes > this.#limits.bytes) this.#parts.drain();
    else this.#parts.add(part);
  }

  #endLine(last: Buffer): void {
    const isWhole = this.#partBytes === 0;
    if (isWhole) this.#partBytes = last.length;
    else this.#buffer(last);
    const isTooLarge = this.#partBytes > this.#limits.bytes;
    // The bytes of a chunk that has several lines are not copied.
    let bytes = isWhole ? last : this.#parts.drain();
    if (this.#number === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0) bytes = bytes.subarray(3);
    if (isTooLarge) this.#push(undefined);
    else if (!isBlank(bytes)) this.#push(bytes);
    else this.#skip();
    this.#partBytes = 0;
    this.#number += 1;
  }

  #skip(): void {
    this.#blankLines += 1;
    // 64 MB of them are half a minute of work, and compressed no more than 64 KB.
    if (this.#blankLines > this.#totals.lines) throw batchTooLarge();
  }

  #push(bytes: Buffer | undefined): void {
    if (this.#lines.length === this.#totals.lines) throw batchTooLarge();
    const values = bytes ? valuesIn(bytes, this.#limits.values) : 0;
    if (values <= this.#limits.values) this.#values += values;
    if (this.#values > this.#totals.values) throw batchTooLarge();
    this.#lines.push(new TextLine(this.#number, bytes, this.#refusal(bytes, values)));
  }

  #refusal(bytes: Buffer | undefined, values: number): ServiceError | undefined {
    if (bytes === undefined) return lineTooLarge(this.#limits.bytes);
    return values > this.#limits.values ? tooManyValues(this.#limits.values, 'line') : undefined;
  }
}

function isBlank(bytes: Buffer): boolean {
  let at = 0;
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === CARRIAGE_RETURN) at += 1;
  return at === bytes.length;
}

/** Values of a batch that is an array: of 1 MB of records. */
const MAX_ARRAY_VALUES = 100_000;

/** A batch as sent. */
interface ReadBatch {
  lines: BatchLine[];
  /** A JSON value that is equal for equal lines. */
  payload: unknown;
}

type BodyContext = Pick<
  RequestContext,
  'req' | 'res' | 'bodies' | 'load' | 'held' | 'found' | 'requireAdmitted'
>;

/**
 * Resolves with the lines of a batch, once all have arrived: from JSON Lines, or from an array no larger than any
 * other JSON body; `share` holds the bytes of JSON Lines. Rejects with `unsupported_media_type`, `payload_too_large`, `malformed_body`, `validation_failed`,
 * `request_timeout` or `overloaded`.
 */
export async function readBatch(context: BodyContext, share: BudgetShare): Promise<ReadBatch> {
  const type = context.req.headers['content-type'] ?? '';
  if (isUtf8Type(type, 'application/json'))
    return linesOf(await readJson(context, undefined, MAX_ARRAY_VALUES));
  if (!isUtf8Type(type, NDJSON)) throw notLines();
  return readLines(context, share);
}

function linesOf(array: unknown): ReadBatch {
  if (!Array.isArray(array)) throw notAnArray();
  const lines = array.map((value: unknown, index) => {
    const kind = isJsonObject(value) ? value.kind : undefined;
    return {
      number: index + 1,
      seemingKind: typeof kind === 'string' ? kind : undefined,
      read: () => value,
    };
  });
  return { lines, payload: array };
}

/**
 * Resolves with the lines of a JSON Lines body, each within `limits`; from then on the request counts among those being
 * worked on. `share` takes the unpacked bytes, which the caller gives back. Rejects with `unsupported_media_type` for an unknown
 * compression, `payload_too_large`, `malformed_body`, `request_timeout` and `overloaded`.
 */
export async function readLines(
  context: BodyContext,
  share: BudgetShare,
  limits?: LineLimits,
): Promise<ReadBatch> {
  const { req, res, load } = context;
  const compressed = isCompressed(req);
  if (Number(req.headers['content-length'] ?? 0) > MAX_BATCH_BYTES) throw batchTooLarge();
  inviteBody(req, res);
  return new Promise((resolve, reject) => {
    const lines = new LineSplitter(limits);
    const digest = createHash('sha256');
    const unzip = compressed ? createGunzip({ chunkSize: UNZIPPED_AT_A_TIME }) : undefined;
    const source: Readable = unzip ?? req;
    let received = 0;
    const fail = (error: unknown) => {
      req.removeAllListeners('data');
      source.removeAllListeners('data');
      if (unzip) req.unpipe(unzip);
      unzip?.destroy();
      reject(error);
    };
    const trying = (work: () => void) => {
      try {
        work();
      } catch (error) {
        fail(error);
      }
    };
    source.on('data', (chunk: Buffer) => {
      digest.update(chunk);
      trying(() => {
        lines.add(chunk);
        reserveShare(share, chunk.length);
      });
    });
    yieldToEventLoop(source);
    source.on('end', () =>
      trying(() => {
        context.requireAdmitted();
        load.enter(context);
        resolve({ lines: lines.end(), payload: { sha256: digest.digest('hex') } });
      }),
    );
    unzip?.on('error', () => fail(malformedBody('is not valid gzip')));
    req.on('error', () => fail(malformedBody('broke off')));
    req.on(BROKEN_OFF, fail);
    if (unzip === undefined) return;
    // A body that decompresses to nothing cannot be bounded by its output.
    req.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > MAX_BATCH_BYTES) fail(batchTooLarge());
    });
    req.pipe(unzip);
  });
}

/**
 * Returns the lines of a JSON Lines body as they arrive, those of a piece of the body at a time; no more of the body is read until they
 * are taken. Called before the response begins. Throws `unsupported_media_type` for an unknown compression; the lines reject with
 * `malformed_body` and `request_timeout`.
 */
export function arrivingLines({ req, res }: Pick<BodyContext, 'req' | 'res'>): AsyncIterable<TextLine[]> {
  const unzip = isCompressed(req) ? createGunzip({ chunkSize: UNZIPPED_AT_A_TIME }) : undefined;
  inviteBody(req, res);
  return linesIn(req, unzip);
}

async function* linesIn(req: BodyContext['req'], unzip: Gunzip | undefined): AsyncGenerator<TextLine[]> {
  const lines = new LineSplitter(recordLimits, NO_LIMITS);
  let reason = malformedBody('broke off');
  const fail = (error: ServiceError) => {
    reason = error;
    (unzip ?? req).destroy(error);
  };
  req.on(BROKEN_OFF, fail);
  if (unzip) {
    req.on('error', () => unzip.destroy(reason));
    req.on('close', () => {
      if (!req.complete) unzip.destroy(reason);
    });
    unzip.on('error', () => {
      if (req.complete || !req.destroyed) reason = malformedBody('is not valid gzip');
    });
  }
  try {
    for await (const chunk of unzip ? req.pipe(unzip) : req) {
      lines.add(chunk);
      const whole = lines.take();
      if (whole.length > 0) yield whole;
    }
  } catch {
    throw reason;
  } finally {
    req.off(BROKEN_OFF, fail);
  }
  yield lines.end();
}
