import type { Readable } from 'node:stream';
import type { Bucket, CreateReadStreamOptions, File } from '@google-cloud/storage';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { documentNotStored } from '../../documentNotStored.ts';
import type { AbandonedUpload, ByteRange, DocumentStore, StoredDocument } from '../../documentStore.ts';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import { within } from '../within.ts';
import { GcsUploadNotes } from './GcsUploadNotes.ts';
import { gcsProblem } from './gcsProblem.ts';
import { openBucket } from './openBucket.ts';
import { readWithin } from './readWithin.ts';
import { uploadObject } from './uploadObject.ts';

const STORE = 'document store';
const DAY_MS = 86_400_000;

export interface GcsOptions {
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
      const isUncertain = error instanceof ServiceError && error.code === 'unavailable';
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
      return await within(this.#callMs, work());
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): ServiceError {
    return unavailable(STORE, error, gcsProblem(this.#bucket.name, error, 'DOCUMENTS_URL'));
  }
}
