import { ServiceError } from '../../platform/errors.ts';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HYPHEN = 0x2d;
/** Node allows as much for the headers of a request. */
const MAX_HEADER_BYTES = 16 * 1024;
/** With more white space after it, a boundary is content. */
const MAX_PADDING_BYTES = 1024;

/** One part of a form, as received. */
export interface FormPart {
  /** 1 for the first part. */
  number: number;
  /** The header lines, one character a byte. */
  headers: string;
  /** To be read to its end before the next part; fails where the form does. */
  content: AsyncIterable<Buffer>;
}

/** Returns the refusal of a form with that defect, a whole sentence. */
export function malformedForm(defect: string): ServiceError {
  return new ServiceError('malformed_body', defect);
}

/**
 * Yields the parts of a `multipart/form-data` body (RFC 7578) as they arrive, in bounded memory. `boundary` has one
 * character a byte. Lines may end with LF instead of CRLF, and white space may follow a boundary (RFC 2046 section 5.1.1);
 * what precedes the first boundary or follows the last one is ignored. Throws `malformed_body` when the form has no
 * boundary, does not end with one, or has more than 16 KB of headers in a part; rejects as `source` does.
 */
export async function* readParts(
  source: AsyncIterable<Buffer>,
  boundary: string,
): AsyncGenerator<FormPart, void> {
  const reader = new PartReader(source, boundary);
  await ignore(reader.content('The form does not contain the boundary that its Content-Type names.'));
  for (let number = 1; !reader.isAtEnd; number += 1) {
    const headers = await reader.headers(number);
    const content = reader.content(`The form ends in part ${number}: its last boundary is missing.`);
    yield { number, headers, content };
  }
  await ignore(reader.rest());
}

async function ignore(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of bytes);
}

class PartReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  /** Bytes received and not yet passed on, from the line break before what is read next. */
  #bytes = Buffer.from('\n');
  /** Whether a line of the form ended with CRLF so far. */
  #hasCrLf = false;
  /** Whether the last boundary has been read. */
  isAtEnd = false;

  constructor(source: AsyncIterable<Buffer>, boundary: string) {
    this.#chunks = source[Symbol.asyncIterator]();
    this.#delimiter = Buffer.from(`\n--${boundary}`, 'latin1');
  }

  /** Returns the lines before the next empty one. */
  async headers(part: number): Promise<string> {
    let start = 1;
    let from = start;
    for (;;) {
      const end = this.#bytes.indexOf(LF, from);
      from = end === -1 ? this.#bytes.length : end + 1;
      if (from > MAX_HEADER_BYTES) {
        throw malformedForm(`The headers of part ${part} are longer than 16 KB.`);
      }
      if (end === -1) {
        if (!(await this.#receive())) throw malformedForm(`The form ends in the headers of part ${part}.`);
        continue;
      }
      const hasCr = end > start && this.#bytes[end - 1] === CR;
      this.#hasCrLf ||= hasCr;
      if (end === (hasCr ? start + 1 : start)) {
        const lines = this.#bytes.toString('latin1', 1, start);
        this.#bytes = this.#bytes.subarray(end);
        return lines;
      }
      start = from;
    }
  }

  /** Yields the bytes before the next boundary. Throws with that defect when there is none. */
  async *content(defect: string): AsyncGenerator<Buffer, void> {
    let start = 1;
    let from = 0;
    for (;;) {
      const at = this.#bytes.indexOf(this.#delimiter, from);
      if (at === -1) {
        // What is kept may be the beginning of a boundary, with the CR before it.
        const kept = this.#bytes.length - this.#delimiter.length;
        if (kept > start) {
          const chunk = this.#bytes.subarray(start, kept);
          this.#bytes = this.#bytes.subarray(kept);
          start = 0;
          from = Math.max(0, from - kept);
          yield chunk;
        }
        if (!(await this.#receive())) throw malformedForm(defect);
        continue;
      }
      const next = this.#endOfBoundary(at + this.#delimiter.length);
      if (next === 'incomplete' && (await this.#receive())) {
        from = at;
        continue;
      }
      if (typeof next !== 'number') {
        from = at + this.#delimiter.length;
        continue;
      }
      const hasCr = at > start && this.#bytes[at - 1] === CR;
      // Where all lines end with LF alone, CR belongs to the content: some PDFs end with it.
      const last = this.#bytes.subarray(start, hasCr && this.#hasCrLf ? at - 1 : at);
      this.#hasCrLf ||= hasCr;
      this.#bytes = this.#bytes.subarray(next);
      if (last.length > 0) yield last;
      return;
    }
  }

  /** Yields the bytes after the last boundary. */
  async *rest(): AsyncGenerator<Buffer, void> {
    do {
      yield this.#bytes;
      this.#bytes = Buffer.alloc(0);
    } while (await this.#receive());
  }

  /**
   * Returns the position after the last boundary, or of the LF after another one; undefined when something else follows, so that
   * it is no boundary.
   */
  #endOfBoundary(start: number): number | 'incomplete' | undefined {
    const bytes = this.#bytes;
    let at = start;
    if (bytes[at] === HYPHEN) {
      if (at + 1 === bytes.length) return 'incomplete';
      this.isAtEnd = bytes[at + 1] === HYPHEN;
      return this.isAtEnd ? at + 2 : undefined;
    }
    while ((bytes[at] === SPACE || bytes[at] === TAB) && at - start < MAX_PADDING_BYTES) at += 1;
    const hasCr = bytes[at] === CR;
    if (hasCr) at += 1;
    if (at === bytes.length) return 'incomplete';
    if (bytes[at] !== LF) return undefined;
    this.#hasCrLf ||= hasCr;
    return at;
  }

  async #receive(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (!done) this.#bytes = Buffer.concat([this.#bytes, value]);
    return !done;
  }
}
