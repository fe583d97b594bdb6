import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

/** The bytes from `start` up to, but not including, `end`. */
export type ReadRange = (start: number, end: number) => Promise<Readable>;

/** The central directory, which ends a ZIP file, is read in blocks of this size; most have one. */
const BLOCK_BYTES = 256 * 1024;
/** Most that is read of a central directory: a document with thousands of pictures has fewer entries and bytes. */
const MAX_ENTRIES = 10_000;
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024;
const CONTENT_TYPES = '[Content_Types].xml';
/** Real ones have a few kilobytes, even in documents with thousands of parts. */
const MAX_CONTENT_TYPES_BYTES = 4 * 1024 * 1024;
/** Declared content type of a document's main part (ECMA-376 part 1, 11.3.10); documents with macros have a different one. */
const MAIN_PART = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';

/**
 * Whether a file of that size is a DOCX: a ZIP file whose list of content types declares a Word document, wherever its entries
 * are in the file; one with more than 10,000 entries is none. Reads only the file's end and that list. Rejects as `read` does,
 * and with the reason of `signal` once that is aborted.
 */
export async function isDocx(size: number, read: ReadRange, signal?: AbortSignal): Promise<boolean> {
  const reader = new RangeReader(size, read, signal);
  try {
    const zip = await fromRandomAccessReaderPromise(reader, size, { lazyEntries: true, autoClose: false });
    if (zip.entryCount > MAX_ENTRIES) return false;
    const entry = await findContentTypes(zip);
    if (entry === undefined || entry.uncompressedSize > MAX_CONTENT_TYPES_BYTES) return false;
    return (await text(await zip.openReadStreamPromise(entry))).includes(MAIN_PART);
  } catch {
    // Otherwise the parser reports a file that is not a ZIP file, or a damaged one.
    if (reader.failure !== undefined) throw reader.failure;
    return false;
  }
}

async function findContentTypes(zip: ZipFile): Promise<Entry | undefined> {
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName === CONTENT_TYPES) return entry;
  }
  return undefined;
}

class RangeReader extends RandomAccessReader {
  readonly #size: number;
  readonly #read: ReadRange;
  readonly #signal: AbortSignal | undefined;
  #block: { start: number; bytes: Buffer };
  #bytesRead = 0;
  /** The store's error when it could not be read, or why reading was ended. */
  failure: unknown;

  constructor(size: number, read: ReadRange, signal: AbortSignal | undefined) {
    super();
    this.#size = size;
    this.#read = read;
    this.#signal = signal;
    this.#block = { start: size, bytes: Buffer.alloc(0) };
  }

  /** Called for the end of the file and, one by one, for the entries of its central directory. */
  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const copy = () => {
      const start = position - this.#block.start;
      this.#block.bytes.copy(target, offset, start, start + length);
    };
    if (this.#has(position, length) && !this.#signal?.aborted) {
      copy();
      setImmediate(callback, null);
      return;
    }
    this.#load(position, length).then(
      () => {
        copy();
        callback(null);
      },
      (error) => callback(error),
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#chunks(start, end), { objectMode: false });
  }

  #has(position: number, length: number): boolean {
    const { start, bytes } = this.#block;
    return position >= start && position + length <= start + bytes.length;
  }

  /** Loads the block that begins with a range, or the last one of the file. */
  async #load(position: number, length: number): Promise<void> {
    const start = Math.max(0, Math.min(position, this.#size - BLOCK_BYTES));
    const end = Math.min(this.#size, Math.max(start + BLOCK_BYTES, position + length));
    this.#bytesRead += end - start;
    if (this.#bytesRead > MAX_DIRECTORY_BYTES) throw new Error('the central directory is too long');
    const parts = await Array.fromAsync(this.#chunks(start, end));
    this.#block = { start, bytes: Buffer.concat(parts) };
    if (!this.#has(position, length)) throw new Error('the file is shorter than it was');
  }

  async *#chunks(start: number, end: number): AsyncGenerator<Buffer> {
    try {
      this.#signal?.throwIfAborted();
      yield* await this.#read(start, end);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
