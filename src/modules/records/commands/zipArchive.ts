import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

/** The bytes from `start` up to, but not including, `end`. */
export type ReadRange = (start: number, end: number) => Promise<Readable>;

/** A file that is read in ranges; `signal` ends the reading. */
export interface RangedFile {
  /** Bytes. */
  size: number;
  read: ReadRange;
  signal?: AbortSignal | undefined;
}

/** The central directory, which ends a ZIP archive, is read in blocks of this size; most have one. */
const BLOCK_BYTES = 256 * 1024;
/** Most that is read of a central directory: a document with thousands of pictures has fewer entries and bytes. */
const MAX_ENTRIES = 10_000;
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024;
/** The list of content types has a few kilobytes, even in documents with thousands of parts. */
const MAX_ENTRY_BYTES = 1024 * 1024;

const END_SIGNATURE = Buffer.from('PK\x05\x06');
/** The record that ends an archive, without the comment that may follow. */
const END_BYTES = 22;
const ENTRY_SIGNATURE = Buffer.from('PK\x01\x02');
const FILE_SIGNATURE = Buffer.from('PK\x03\x04');

/** Why an entry could not be read: the file is no archive, or `damaged`, too large or encrypted. */
export class ZipError extends Error {
  readonly reason: 'absent' | 'damaged' | 'oversized' | 'encrypted';

  constructor(reason: ZipError['reason'], cause?: unknown) {
    super(`The archive is ${reason}.`, { cause });
    this.reason = reason;
  }
}

/**
 * Returns the contents of the named entries that a ZIP archive has; `names` are in lower case. Bytes before or after the archive
 * are ignored, up to 256 KB after it, as the programs that open documents ignore them. Reads only the end of the file, the central
 * directory and those entries. Throws `ZipError`; rejects as `read` does, and with the reason of `signal` once that is aborted.
 */
export async function readZipEntries(file: RangedFile, names: string[]): Promise<Map<string, Buffer>> {
  const blocks = new BlockReader(file);
  try {
    const archive = await findArchive(blocks, file.size);
    const options = { lazyEntries: true, autoClose: false, decodeStrings: false };
    const zip = await fromRandomAccessReaderPromise(
      new ArchiveReader(blocks, archive),
      archive.size,
      options,
    );
    if (zip.entryCount > MAX_ENTRIES) throw new ZipError('oversized');
    const contents = new Map<string, Buffer>();
    for (const [name, entry] of await findEntries(zip, names))
      contents.set(name, await readEntry(zip, entry));
    return contents;
  } catch (error) {
    if (blocks.failure !== undefined) throw blocks.failure;
    throw error instanceof ZipError ? error : new ZipError('damaged', error);
  }
}

async function findEntries(zip: ZipFile, names: string[]): Promise<Map<string, Entry>> {
  const found = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) {
    // The names of other entries need not be valid paths.
    const name = entry.fileNameRaw.toString('latin1').replaceAll('\\', '/').toLowerCase();
    if (names.includes(name)) found.set(name, entry);
    if (found.size === names.length) break;
  }
  return found;
}

async function readEntry(zip: ZipFile, entry: Entry): Promise<Buffer> {
  if (entry.isEncrypted()) throw new ZipError('encrypted');
  if (entry.uncompressedSize > MAX_ENTRY_BYTES) throw new ZipError('oversized');
  return buffer(await zip.openReadStreamPromise(entry));
}

/** Where an archive is in a file; `size` is without its comment. */
interface ArchivePlace {
  start: number;
  size: number;
}

/** Returns the place of the last archive in a file whose directory is where its last record says. */
async function findArchive(blocks: BlockReader, fileSize: number): Promise<ArchivePlace> {
  if (fileSize < END_BYTES) throw new ZipError('absent');
  const tailStart = Math.max(0, fileSize - BLOCK_BYTES);
  const tail = await blocks.bytes(tailStart, fileSize);
  let last: ArchivePlace | undefined;
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1) {
    at = tail.lastIndexOf(END_SIGNATURE, at);
    if (at === -1) break;
    const end = tailStart + at;
    const directory = end - tail.readUInt32LE(at + 12);
    last ??= { start: 0, size: end + END_BYTES };
    const start = directory - tail.readUInt32LE(at + 16);
    if (start < 0) continue;
    if ((await blocks.bytes(directory, directory + ENTRY_SIGNATURE.length)).equals(ENTRY_SIGNATURE)) {
      return { start, size: end + END_BYTES - start };
    }
  }
  if (last !== undefined) return last;
  const first = await blocks.bytes(0, FILE_SIGNATURE.length);
  throw new ZipError(first.equals(FILE_SIGNATURE) ? 'damaged' : 'absent');
}

/** Shows an archive as if the file began and ended with it. */
class ArchiveReader extends RandomAccessReader {
  readonly #blocks: BlockReader;
  readonly #place: ArchivePlace;

  constructor(blocks: BlockReader, place: ArchivePlace) {
    super();
    this.#blocks = blocks;
    this.#place = place;
  }

  /** Called for the end of the archive and, one by one, for the entries of its central directory. */
  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const { start, size } = this.#place;
    const copy = (bytes: Buffer) => {
      bytes.copy(target, offset);
      // There is no comment, whatever the record says of its length.
      const at = size - 2 - position;
      if (at >= 0 && at + 2 <= length) target.writeUInt16LE(0, offset + at);
      setImmediate(callback, null);
    };
    this.#blocks.bytes(start + position, start + position + length).then(copy, callback);
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const chunks = this.#blocks.chunks(this.#place.start + start, this.#place.start + end);
    return Readable.from(chunks, { objectMode: false });
  }
}

interface Block {
  start: number;
  bytes: Buffer;
}

/** Reads a file in blocks, of which it keeps two: that with the end of an archive, while its directory is looked for. */
class BlockReader {
  readonly #file: RangedFile;
  #blocks: Block[] = [];
  #bytesRead = 0;
  /** The store's error when it could not be read, or why reading was ended. */
  failure: unknown;

  constructor(file: RangedFile) {
    this.#file = file;
  }

  /** Returns the bytes of a range. */
  async bytes(start: number, end: number): Promise<Buffer> {
    const kept = this.#blocks.find(
      (block) => start >= block.start && end <= block.start + block.bytes.length,
    );
    const block = kept && !this.#file.signal?.aborted ? kept : await this.#load(start, end);
    return block.bytes.subarray(start - block.start, end - block.start);
  }

  async *chunks(start: number, end: number): AsyncGenerator<Buffer, void> {
    try {
      this.#file.signal?.throwIfAborted();
      yield* await this.#file.read(start, end);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }

  /** Loads the block that begins with a range, or the last one of the file. */
  async #load(start: number, end: number): Promise<Block> {
    const { size } = this.#file;
    const first = Math.max(0, Math.min(start, size - BLOCK_BYTES));
    const last = Math.min(size, Math.max(first + BLOCK_BYTES, end));
    this.#bytesRead += last - first;
    if (this.#bytesRead > MAX_DIRECTORY_BYTES) throw new ZipError('oversized');
    const block = { start: first, bytes: Buffer.concat(await Array.fromAsync(this.chunks(first, last))) };
    if (first + block.bytes.length < end) throw new Error('The file is shorter than it was.');
    this.#blocks = [block, ...this.#blocks.slice(0, 1)];
    return block;
  }
}
