import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

/** The bytes from `start` up to, but not including, `end`. */
export type ReadRange = (start: number, end: number) => Promise<Readable>;

/** Most central directories, which end a ZIP file, are shorter; longer ones are read in pieces. */
const TAIL_BYTES = 1024 * 1024;
const CONTENT_TYPES = '[Content_Types].xml';
/** Real ones have a few kilobytes, even in documents with thousands of parts. */
const MAX_CONTENT_TYPES_BYTES = 4 * 1024 * 1024;
/** Declared content type of a document's main part (ECMA-376 part 1, 11.3.10); documents with macros have a different one. */
const MAIN_PART = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';

/**
 * Whether a file of that size is a DOCX: a ZIP file whose list of content types declares a Word document, wherever its entries
 * are in the file. Reads only the file's end and that list. Rejects as `read` does.
 */
export async function isDocx(size: number, read: ReadRange): Promise<boolean> {
  const reader = new RangeReader(size, read);
  try {
    const zip = await fromRandomAccessReaderPromise(reader, size, { lazyEntries: true, autoClose: false });
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
  readonly #tailStart: number;
  readonly #size: number;
  readonly #read: ReadRange;
  #tail: Promise<Buffer> | undefined;
  /** The store's error when it could not be read. */
  failure: unknown;

  constructor(size: number, read: ReadRange) {
    super();
    this.#size = size;
    this.#tailStart = Math.max(0, size - TAIL_BYTES);
    this.#read = read;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#chunks(start, end), { objectMode: false });
  }

  async *#chunks(start: number, end: number): AsyncGenerator<Buffer> {
    try {
      if (start < this.#tailStart) {
        yield* await this.#read(start, end);
        return;
      }
      this.#tail ??= this.#read(this.#tailStart, this.#size).then(buffer);
      yield (await this.#tail).subarray(start - this.#tailStart, end - this.#tailStart);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
