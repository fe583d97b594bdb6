import { ServiceError } from '../../platform/errors.ts';
import { batchTooLarge } from '../schemas/errorResponses.ts';
import { valuesIn } from '../server/jsonValues.ts';
import { MAX_BODY_BYTES, MAX_VALUES, tooManyValues } from '../server/readJson.ts';
import { GatheredBytes } from '../server/requestBody.ts';
import { TextLine } from './TextLine.ts';

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
export interface LineLimits {
  bytes: number;
  values: number;
}

const recordLimits: LineLimits = { bytes: MAX_BODY_BYTES, values: MAX_VALUES };

/**
 * Splits the bytes of a body into lines as they arrive. Blank lines are numbered, and skipped; there may be as many of
 * them as of others.
 */
export class LineSplitter {
  readonly #limits: LineLimits;
  readonly #lines: TextLine[] = [];
  /** What has arrived of the current line, unless it is too large. */
  readonly #parts = new GatheredBytes();
  #partBytes = 0;
  #bytes = 0;
  #values = 0;
  #number = 1;
  #blankLines = 0;

  constructor(limits = recordLimits) {
    this.#limits = limits;
  }

  /** Takes more bytes. Throws `payload_too_large`. */
  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BATCH_BYTES) throw batchTooLarge();
    let begin = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      this.#endLine(chunk.subarray(begin, end));
      begin = end + 1;
    }
    if (begin < chunk.length) this.#keep(chunk.subarray(begin));
  }

  /** Returns the lines, once all bytes have arrived. Throws `payload_too_large`. */
  end(): TextLine[] {
    this.#endLine(Buffer.alloc(0));
    return this.#lines;
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length;
    if (this.#partBytes > this.#limits.bytes) this.#parts.take();
    else this.#parts.add(part);
  }

  #endLine(last: Buffer): void {
    const isWhole = this.#partBytes === 0;
    if (isWhole) this.#partBytes = last.length;
    else this.#keep(last);
    const isTooLarge = this.#partBytes > this.#limits.bytes;
    // The bytes of a chunk that has several lines are not copied.
    let bytes = isWhole ? last : this.#parts.take();
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
    if (this.#blankLines > MAX_LINES) throw batchTooLarge();
  }

  #push(bytes: Buffer | undefined): void {
    if (this.#lines.length === MAX_LINES) throw batchTooLarge();
    const values = bytes ? valuesIn(bytes, this.#limits.values) : 0;
    if (values <= this.#limits.values) this.#values += values;
    if (this.#values > MAX_BATCH_VALUES) throw batchTooLarge();
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
