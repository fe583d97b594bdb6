import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { type Bucket, type File, IdempotencyStrategy, Storage } from '@google-cloud/storage';
import { ServiceError, unavailable } from '../../errors.ts';
import type { AbandonedUpload, DocumentStore, StoredDocument } from '../../ports/documentStore.ts';
import { ObjectWriter } from './ObjectWriter.ts';
import { readWithin } from './readWithin.ts';
import { within } from './within.ts';

const STORE = 'document store';
const DAY_MS = 86_400_000;
const LIST_PAGE = 1_000;
/** The storage library listens 12 times for errors of one inner stream of a download; Node warns of leaks from 11 on. */
const LISTENERS_OF_A_DOWNLOAD = 12;

export interface GcsOptions {
  /** Age from which an upload under way counts as left by a process that is gone. */
  abandonedAfterMs?: number;
  /** How long a small request, or the first byte of a document, may take. */
  callMs?: number;
  /** How long the bytes of a document may stand still. */
  stallMs?: number;
}

/**
 * Documents in a bucket of Google Cloud Storage: `<prefix>/objects/<object id>`. While an upload is under way,
 * `<prefix>/uploads/<object id>` notes it, and holds the stream that was claimed. Several instances upload to one
 * bucket and cannot see each other, so an upload counts as abandoned by its age.
 */
export class GcsDocumentStore implements DocumentStore {
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #abandonedAfterMs: number;
  readonly #callMs: number;
  readonly #stallMs: number;
  /** Uploads that this instance has begun and that nobody settled yet. */
  readonly #running = new Set<string>();

  /**
   * `gs://bucket/prefix`; `?endpoint=http://host:port` names an emulator, which is spoken to without credentials.
   * Does not connect: the first call does.
   */
  constructor(url: string, options: GcsOptions = {}) {
    EventEmitter.defaultMaxListeners = Math.max(EventEmitter.defaultMaxListeners, LISTENERS_OF_A_DOWNLOAD);
    const { hostname, pathname, searchParams } = new URL(url);
    this.#abandonedAfterMs = options.abandonedAfterMs ?? DAY_MS;
    this.#callMs = options.callMs ?? 2_500;
    this.#stallMs = options.stallMs ?? 15_000;
    const endpoint = searchParams.get('endpoint');
    const storage = new Storage({
      ...(endpoint && { apiEndpoint: endpoint, projectId: 'emulator', useAuthWithCustomEndpoint: false }),
      retryOptions: {
        // Every request of this store may be repeated: object ids are never used again.
        idempotencyStrategy: IdempotencyStrategy.RetryAlways,
        maxRetries: 3,
        maxRetryDelay: 1,
        totalTimeout: this.#stallMs / 1000,
      },
    });
    this.#bucket = storage.bucket(hostname);
    const path = decodeURIComponent(pathname).replace(/^\/|\/$/g, '');
    this.#prefix = path === '' ? '' : `${path}/`;
  }

  async put(objectId: string, source: Readable): Promise<StoredDocument> {
    this.#running.add(objectId);
    try {
      await this.#writeNote(objectId, '');
      return await this.#upload(objectId, source);
    } catch (error) {
      source.destroy();
      // What cannot be removed now is found as abandoned later.
      await this.discard(objectId).catch(() => undefined);
      throw error;
    }
  }

  claim(objectId: string, stream: string): Promise<void> {
    return this.#writeNote(objectId, stream);
  }

  async confirm(objectId: string): Promise<void> {
    await this.#call(() => this.#note(objectId).delete({ ignoreNotFound: true }));
    this.#running.delete(objectId);
  }

  async discard(objectId: string): Promise<void> {
    await this.delete(objectId);
    await this.confirm(objectId);
  }

  async abandoned(): Promise<AbandonedUpload[]> {
    const abandoned: AbandonedUpload[] = [];
    const before = Date.now() - this.#abandonedAfterMs;
    for (let pageToken: string | undefined; ; ) {
      const page = await this.#listNotes(LIST_PAGE, pageToken);
      for (const note of page.notes) {
        const objectId = note.name.slice(note.name.lastIndexOf('/') + 1);
        const begun = Date.parse(String(note.metadata.updated));
        if (this.#running.has(objectId) || begun > before) continue;
        const [content] = await this.#call(() => note.download());
        abandoned.push({ objectId, stream: content.toString() || undefined });
      }
      pageToken = page.nextPageToken;
      if (pageToken === undefined) return abandoned;
    }
  }

  async get(objectId: string): Promise<Readable> {
    const file = this.#object(objectId);
    return readWithin(() => file.createReadStream({ validation: 'crc32c' }), {
      firstMs: this.#callMs,
      stallMs: this.#stallMs,
      toServiceError: (error) => this.#readError(error),
    });
  }

  async delete(objectId: string): Promise<void> {
    await this.#call(() => this.#object(objectId).delete({ ignoreNotFound: true }));
  }

  /** A listing fails, as a write would, when the bucket is away or not there or the credentials are not good. */
  async check(): Promise<void> {
    await this.#listNotes(1);
  }

  async close(): Promise<void> {}

  #object(objectId: string): File {
    return this.#bucket.file(`${this.#prefix}objects/${objectId}`);
  }

  #note(objectId: string): File {
    return this.#bucket.file(`${this.#prefix}uploads/${objectId}`);
  }

  async #writeNote(objectId: string, stream: string): Promise<void> {
    await this.#call(() =>
      this.#note(objectId).save(stream, {
        resumable: false,
        contentType: 'text/plain',
        validation: 'crc32c',
      }),
    );
  }

  async #upload(objectId: string, source: Readable): Promise<StoredDocument> {
    const writer = new ObjectWriter(this.#object(objectId), this.#stallMs);
    const hash = createHash('sha256');
    let size = 0;
    const store = <Result>(work: Promise<Result>) =>
      work.catch((error) => Promise.reject(unavailable(STORE, error)));
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

  /** 404 is the answer for a missing bucket too. */
  async #readError(error: unknown): Promise<ServiceError> {
    if ((error as { code?: unknown }).code !== 404) return unavailable(STORE, error);
    await this.check();
    return new ServiceError('not_found', 'The document is no longer stored.');
  }

  async #listNotes(
    most: number,
    pageToken?: string,
  ): Promise<{ notes: File[]; nextPageToken: string | undefined }> {
    const [notes, next] = await this.#call(() =>
      this.#bucket.getFiles({
        prefix: `${this.#prefix}uploads/`,
        maxResults: most,
        autoPaginate: false,
        ...(pageToken && { pageToken }),
      }),
    );
    return { notes, nextPageToken: (next as { pageToken?: string } | null)?.pageToken };
  }

  async #call<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await within(this.#callMs, work());
    } catch (error) {
      throw unavailable(STORE, error);
    }
  }
}
