import { ServiceError } from '../../../errors.ts';
import { MAX_BODY_BYTES } from '../../server/readJson.ts';
import { TextLine } from './TextLine.ts';

/** Limits of a batch: total bytes (64 MB, as mebibytes), and lines. */
export const MAX_BATCH_BYTES = 64 * 1024 * 1024;
export const MAX_LINES = 100_000;

const NEWLINE = 0x0a;
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Returns the refusal of a batch that is too large. */
export function batchTooLarge(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    'The batch has more than 100,000 lines, or more than 64 MB when decompressed. Split it into several batches.',
  );
}

/**
 * Splits the bytes of a body into lines as they arrive. Blank lines are numbered, and skipped; there may be as many of
 * them as of others.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  readonly #lines: TextLine[] = [];
  /** What has arrived of the current line, unless it is too large. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #bytes = 0;
  #number = 1;
  #blankLines = 0;

  /** `maxLineBytes`: maximum bytes per line. */
  constructor(maxLineBytes = MAX_BODY_BYTES) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Takes more bytes. Throws `payload_too_large`. */
  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BATCH_BYTES) throw batchTooLarge();
    let begin = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      this.#keep(chunk.subarray(begin, end));
      this.#endLine();
      begin = end + 1;
    }
    this.#keep(chunk.subarray(begin));
  }

  /** Returns the lines, once all bytes have arrived. Throws `payload_too_large`. */
  end(): TextLine[] {
    this.#endLine();
    return this.#lines;
  }

  #keep(part: Buffer): void {
    this.#partBytes += part.length;
    if (this.#partBytes > this.#maxLineBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  #endLine(): void {
    const isTooLarge = this.#partBytes > this.#maxLineBytes;
    let bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    if (this.#number === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0) bytes = bytes.subarray(3);
    if (isTooLarge) this.#push(undefined);
    else if (!bytes.every((byte) => BLANK.has(byte))) this.#push(bytes);
    else this.#skip();
    this.#parts = [];
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
    this.#lines.push(new TextLine(this.#number, bytes, this.#maxLineBytes));
  }
}
