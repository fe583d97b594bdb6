import type { Readable } from 'node:stream';

export interface StoredDocument {
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
}

/** A part of a document: its first and its last byte, both included and both within it. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An upload that began and was neither confirmed nor discarded by a process that is gone. */
export interface AbandonedUpload {
  objectId: string;
  /** The stream that would hold its event; undefined when it was never claimed, so that no event can name it. */
  stream: string | undefined;
}

/**
 * The bytes of documents, by object id (a UUID chosen by the uploader; an object is never overwritten).
 *
 * An upload is `put` (the bytes become durable), `claim` (which stream will name it), then the event is appended, then
 * `confirm`. A process that dies between leaves an abandoned upload, which is settled against the log: confirmed or
 * discarded.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is away, or at its address there is another one.
 */
export interface DocumentStore {
  /**
   * Takes the bytes of `source` to durable storage, in bounded memory. Rejects with the source's own error when that
   * fails. When it rejects, the source is destroyed and nothing is left behind; what a store that is away keeps is
   * reported as abandoned.
   */
  put(objectId: string, source: Readable): Promise<StoredDocument>;

  /** Notes, durably, the stream to which the event that names the object is about to be appended. */
  claim(objectId: string, stream: string): Promise<void>;

  /**
   * The event that names the object is in the log: the object stays. Rejects with `not_found` when the upload is no longer
   * this store's, as another process took this one for gone: the object may stay or go then.
   */
  confirm(objectId: string): Promise<void>;

  /** No event names the object: it goes, as if it had never been. */
  discard(objectId: string): Promise<void>;

  /**
   * The uploads that processes which are gone left behind; they are this store's to settle from now on. That a process is
   * gone may only be known some seconds after it was first asked for, or by the age of what it left.
   */
  abandoned(): Promise<AbandonedUpload[]>;

  /** The bytes, or a part of them; rejects with `not_found` when there is no such object (any more). */
  get(objectId: string, range?: ByteRange): Promise<Readable>;

  /** Whether there is such an object; none of its bytes are read. */
  has(objectId: string): Promise<boolean>;

  /** Removes an object; one that is not there is no error. */
  delete(objectId: string): Promise<void>;

  /** Identity of the event log whose events name these documents; undefined for a store that was never told. */
  log(): Promise<string | undefined>;

  /** Notes, durably, whose events name these documents, in the place of what was noted before. */
  setLog(identity: string): Promise<void>;

  /** Resolves when the store can be reached and written to. */
  check(): Promise<void>;

  close(): Promise<void>;
}
