import { createHash } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Bucket, CreateReadStreamOptions, File } from '@google-cloud/storage';
import { type ServiceError, unavailable } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import {
  type AbandonedUpload,
  type ByteRange,
  type DocumentStore,
  documentNotStored,
  type StoredDocument,
} from '../../documentStore.ts';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import { withTimeout } from '../shared.ts';
import { gcsProblem, type OpenedBucket, openBucket } from './bucket.ts';

const CLAIM = '.claim';
const LIST_PAGE = 1_000;

type Call = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Notes of uploads under way: `<folder>/<object id>` says that one began, `<object id>.claim` contains the stream that will name
 * it. Each is written once, because the store accepts one write per second for a name.
 */
class GcsUploadNotes {
  readonly #bucket: Bucket;
  readonly #folder: string;
  readonly #call: Call;

  /** `call` makes one request. */
  constructor(bucket: Bucket, folder: string, call: Call) {
    this.#bucket = bucket;
    this.#folder = folder;
    this.#call = call;
  }

  begin(objectId: string): Promise<void> {
    return this.#write(objectId, '');
  }

  claim(objectId: string, stream: string): Promise<void> {
    return this.#write(objectId + CLAIM, stream);
  }

  /** Removes the notes of an upload; false when there were none, or no longer any. */
  async remove(objectId: string): Promise<boolean> {
    // The claim is removed last: an upload that only has a claim is still settled against the log.
    const begun = await this.#delete(objectId);
    const claimed = await this.#delete(objectId + CLAIM);
    return begun || claimed;
  }

  /** Returns the uploads noted before a moment, in milliseconds, except those in `running`. */
  async before(moment: number, running: ReadonlySet<string>): Promise<AbandonedUpload[]> {
    const found = new Map<string, AbandonedUpload>();
    for (let pageToken: string | undefined; ; ) {
      const page = await this.list(LIST_PAGE, pageToken);
      for (const note of page.notes) {
        const objectId = note.name.slice(this.#folder.length + 1).replace(CLAIM, '');
        const isOld = Date.parse(String(note.metadata.updated)) <= moment;
        if (!isOld || running.has(objectId) || found.has(objectId)) continue;
        found.set(objectId, { objectId, stream: await this.#streamOf(objectId) });
      }
      pageToken = page.nextPageToken;
      if (pageToken === undefined) return [...found.values()];
    }
  }

  /** Returns a page of the notes. */
  async list(
    most: number,
    pageToken?: string,
  ): Promise<{ notes: File[]; nextPageToken: string | undefined }> {
    const [notes, next] = await this.#call(() =>
      this.#bucket.getFiles({
        prefix: `${this.#folder}/`,
        maxResults: most,
        autoPaginate: false,
        ...(pageToken && { pageToken }),
      }),
    );
    return { notes, nextPageToken: (next as { pageToken?: string } | null)?.pageToken };
  }

  async #streamOf(objectId: string): Promise<string | undefined> {
    // An earlier release overwrote the first note with the claim.
    return (await this.#read(objectId + CLAIM)) || (await this.#read(objectId)) || undefined;
  }

  async #read(name: string): Promise<string | undefined> {
    const content = await this.#call(() => this.#file(name).download().catch(nothingWhereMissing));
    return content?.[0].toString();
  }

  #file(name: string): File {
    return this.#bucket.file(`${this.#folder}/${name}`);
  }

  async #write(name: string, content: string): Promise<void> {
    await this.#call(() =>
      this.#file(name).save(content, {
        resumable: false,
        contentType: 'text/plain',
        validation: 'crc32c',
      }),
    );
  }

  async #delete(name: string): Promise<boolean> {
    return (await this.#call(() => this.#file(name).delete().catch(nothingWhereMissing))) !== undefined;
  }
}

function nothingWhereMissing(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== 404) throw error;
}

interface Limits {
  /** Time limit for the first bytes. */
  firstMs: number;
  /** Time limit for the next bytes, when requested. */
  stallMs: number;
  toServiceError(error: unknown): Promise<ServiceError>;
}

/** Returns a download once its first bytes have arrived; it fails when it stalls, and ends its request when abandoned. */
export async function readWithin(open: () => Readable, limits: Limits): Promise<Readable> {
  const source = open();
  let answered = false;
  source.once('response', () => {
    answered = true;
  });
  // The library throws, outside any promise, if the stream is already destroyed when the response arrives and is to be piped to
  // it.
  const leave = () => {
    if (answered) source.destroy();
    else source.once('response', () => setImmediate(() => source.destroy()));
  };
  const chunks = source[Symbol.asyncIterator]();
  const next = async (ms: number) => {
    try {
      return await withTimeout(ms, chunks.next());
    } catch (error) {
      leave();
      throw await limits.toServiceError(error);
    }
  };
  const first = await next(limits.firstMs);
  const all = async function* () {
    for (let one = first; !one.done; one = await next(limits.stallMs)) yield one.value;
  };
  return Readable.from(all(), { objectMode: false }).once('close', leave);
}

/** Kept in memory until the store has acknowledged it, so that a failed request can be repeated. */
const CHUNK_BYTES = 8 * 1024 * 1024;

interface WriterOptions {
  /** Maximum time without any bytes. */
  stallMs: number;
  /** Fails if the object exists; otherwise it is replaced. */
  isNew: boolean;
}

/** A resumable upload of one object, whose checksum must match the store's response. */
class ObjectWriter {
  readonly #stream: Writable;
  readonly #stallMs: number;
  readonly #done: Promise<void>;

  constructor(file: File, { stallMs, isNew }: WriterOptions) {
    this.#stream = file.createWriteStream({
      resumable: true,
      chunkSize: CHUNK_BYTES,
      validation: 'crc32c',
      ...(isNew && { preconditionOpts: { ifGenerationMatch: 0 } }),
      metadata: { contentType: 'application/octet-stream' },
    });
    this.#stallMs = stallMs;
    this.#done = finished(this.#stream);
    this.#done.catch(() => undefined);
  }

  /** Resolves when the next bytes can be written; rejects when the upload failed or stalls. */
  write(chunk: Uint8Array): Promise<void> {
    const taken = new Promise<void>((resolve, reject) => {
      this.#stream.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
    return withTimeout(this.#stallMs, Promise.race([taken, this.#done]));
  }

  /** Resolves when the whole object is stored. */
  end(): Promise<void> {
    this.#stream.end();
    return withTimeout(this.#stallMs, this.#done);
  }

  /** Aborts the upload unless it has ended; there is then no object. */
  destroy(): void {
    this.#stream.destroy();
  }
}

interface UploadOptions extends WriterOptions {
  toServiceError(error: unknown): ServiceError;
}

/**
 * Writes an object atomically, in bounded memory. Errors from `source` are passed through unchanged; the store's are converted by
 * `toServiceError`.
 */
export async function uploadObject(
  file: File,
  source: AsyncIterable<Uint8Array>,
  { toServiceError, ...options }: UploadOptions,
): Promise<StoredDocument> {
  const writer = new ObjectWriter(file, options);
  const hash = createHash('sha256');
  let size = 0;
  const store = <Result>(work: Promise<Result>) =>
    work.catch((error) => Promise.reject(toServiceError(error)));
  try {
    for await (const chunk of source) {
      hash.update(chunk);
      size += chunk.length;
      await store(writer.write(chunk));
    }
    await store(writer.end());
  } finally {
    writer.destroy();
  }
  return { size, sha256: hash.digest('hex') };
}

const STORE = 'document store';
const DAY_MS = 86_400_000;

interface GcsOptions {
  /** Age from which an upload under way counts as left by a dead process. */
  abandonedAfterMs?: number;
  /** Time limit for a small request, or the first byte of a document. */
  callMs?: number;
  /** Maximum time without any bytes of a document. */
  stallMs?: number;
}

/**
 * Documents in a Google Cloud Storage bucket: `<prefix>/objects/<object id>`. While an upload is under way, `<prefix>/uploads`
 * contains notes about it. Several instances upload to one bucket and cannot see each other, so an upload counts as abandoned by
 * its age.
 */
export class GcsDocumentStore implements DocumentStore {
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #notes: GcsUploadNotes;
  readonly #abandonedAfterMs: number;
  readonly #callMs: number;
  readonly #stallMs: number;
  /** Uploads begun by this instance and not settled yet. */
  readonly #running = new Set<string>();

  /** See `openBucket`. */
  constructor(url: string, options: GcsOptions = {}) {
    this.#abandonedAfterMs = options.abandonedAfterMs ?? DAY_MS;
    this.#callMs = options.callMs ?? 2_500;
    this.#stallMs = options.stallMs ?? 15_000;
    const { bucket, prefix } = openBucket(url, this.#stallMs);
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#notes = new GcsUploadNotes(this.#bucket, `${this.#prefix}uploads`, (work) => this.#call(work));
  }

  async put(objectId: string, source: Readable): Promise<StoredDocument> {
    this.#running.add(objectId);
    try {
      await this.#notes.begin(objectId);
      const toServiceError = (error: unknown) => this.#unavailable(error);
      const options = { stallMs: this.#stallMs, isNew: true, toServiceError };
      return await uploadObject(this.#object(objectId), source, options);
    } catch (error) {
      source.destroy();
      const isUncertain = isUnavailable(error);
      // The store may yet complete what it did not answer: by the note, that is later found as abandoned.
      this.#running.delete(objectId);
      await (isUncertain ? this.delete(objectId) : this.discard(objectId)).catch(() => undefined);
      throw error;
    }
  }

  claim(objectId: string, stream: string): Promise<void> {
    return this.#notes.claim(objectId, stream);
  }

  async confirm(objectId: string): Promise<void> {
    if (!(await this.#settle(objectId))) throw documentNotStored();
  }

  async keep(objectId: string): Promise<void> {
    await this.#settle(objectId);
  }

  async discard(objectId: string): Promise<void> {
    this.#running.delete(objectId);
    await this.delete(objectId);
    await this.#settle(objectId);
  }

  async abandoned(): Promise<AbandonedUpload[]> {
    return this.#notes.before(Date.now() - this.#abandonedAfterMs, this.#running);
  }

  async get(objectId: string, range?: ByteRange): Promise<Readable> {
    const file = this.#object(objectId);
    // The store's checksum is for the whole object.
    const options: CreateReadStreamOptions = range
      ? { ...range, validation: false }
      : { validation: 'crc32c' };
    return readWithin(() => file.createReadStream(options), {
      firstMs: this.#callMs,
      stallMs: this.#stallMs,
      toServiceError: (error) => this.#readError(error),
    });
  }

  async has(objectId: string): Promise<boolean> {
    const [exists] = await this.#call(() => this.#object(objectId).exists());
    // A missing bucket is reported in the same way.
    if (!exists) await this.check();
    return exists;
  }

  async delete(objectId: string): Promise<void> {
    await this.#call(() => this.#object(objectId).delete({ ignoreNotFound: true }));
  }

  async log(): Promise<string | undefined> {
    return (await this.#description()).log;
  }

  async setLog(identity: string): Promise<void> {
    const before = await this.#description();
    if (before.log === identity && before.format === STORE_FORMAT) return;
    const description = JSON.stringify({ ...before, log: identity, format: STORE_FORMAT });
    const options = { resumable: false, contentType: 'application/json', validation: 'crc32c' } as const;
    await this.#call(() => this.#bucket.file(this.#descriptionName).save(description, options));
  }

  /** Listing fails, as a write would, when the bucket is unreachable or missing or the credentials are invalid. */
  async check(): Promise<void> {
    await this.#notes.list(1);
  }

  async close(): Promise<void> {}

  async #settle(objectId: string): Promise<boolean> {
    const noted = await this.#notes.remove(objectId);
    this.#running.delete(objectId);
    return noted;
  }

  #object(objectId: string): File {
    return this.#bucket.file(`${this.#prefix}objects/${objectId}`);
  }

  /** A missing bucket is reported as 404, too. */
  async #readError(error: unknown): Promise<ServiceError> {
    if ((error as { code?: unknown }).code !== 404) return this.#unavailable(error);
    await this.check();
    return documentNotStored();
  }

  get #descriptionName(): string {
    return `${this.#prefix}store.json`;
  }

  /** Returns the store's description; empty if none was written yet. Rejects as `isEarlierFormat` throws. */
  async #description(): Promise<{ log?: string; format?: number }> {
    const description = await this.#call(async () => {
      try {
        const [content] = await this.#bucket.file(this.#descriptionName).download();
        return JSON.parse(content.toString());
      } catch (error) {
        if ((error as { code?: unknown }).code !== 404) throw error;
        // A missing bucket is reported in the same way.
        await this.#bucket.getFiles({ prefix: this.#descriptionName, maxResults: 1, autoPaginate: false });
        return {};
      }
    });
    isEarlierFormat(`${this.#bucket.name}/${this.#descriptionName}`, description.format ?? 0);
    return description;
  }

  async #call<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await withTimeout(this.#callMs, work());
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): ServiceError {
    return unavailable(STORE, error, gcsProblem(this.#bucket.name, error, 'DOCUMENTS_URL'));
  }
}

/** Yields the objects whose names start with the prefix and `start`, by name, one page at a time. Rejects as the library does. */
export async function* filePages(
  { bucket, prefix }: OpenedBucket,
  start: string,
  limitMs: number,
): AsyncGenerator<File[]> {
  for (let query: object | null = { prefix: prefix + start, autoPaginate: false }; query !== null; ) {
    const [files, next]: [File[], object | null, ...unknown[]] = await withTimeout(
      limitMs,
      bucket.getFiles(query),
    );
    yield files;
    query = next;
  }
}
