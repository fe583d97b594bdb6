import type { Readable } from 'node:stream';
import { ServiceError } from '../platform/errors.ts';

/** The error for bytes that the store does not hold, or no longer holds. */
export function documentNotStored(): ServiceError {
  return new ServiceError('not_found', 'The document is no longer stored.');
}

export interface StoredDocument {
  /** In bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
}

/** A range of a document's bytes: first and last byte, both inclusive and within the document. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An upload that a process, since gone, began and neither confirmed nor discarded. */
export interface AbandonedUpload {
  objectId: string;
  /** The stream that would hold its event; undefined when it was never claimed, so no event can name it. */
  stream: string | undefined;
}

/**
 * The bytes of documents, by object id (a UUID chosen by the uploader; objects are never overwritten).
 *
 * An upload consists of `put` (the bytes become durable), `claim` (records which stream will name it), the append of the event,
 * and `confirm`. A process that dies in between leaves an abandoned upload, which is settled against the log: confirmed or
 * discarded.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is unreachable, or a different store is at its address.
 */
export interface DocumentStore {
  /**
   * Writes the bytes of `source` to durable storage, in bounded memory. Rejects with the source's own error when that fails. On
   * rejection the source is destroyed and nothing is left behind; anything that an unreachable store retains is reported as
   * abandoned.
   */
  put(objectId: string, source: Readable): Promise<StoredDocument>;

  /** Durably records the stream to which the event that names the object is about to be appended. */
  claim(objectId: string, stream: string): Promise<void>;

  /**
   * Keeps the object: the event that names it is in the log. Rejects with `not_found` when the upload no longer belongs to this
   * store because another process presumed this one dead; the object may then be kept or removed.
   */
  confirm(objectId: string): Promise<void>;

  /** Keeps the object, whichever process uploaded it; for a store to which nobody else uploads. */
  keep(objectId: string): Promise<void>;

  /** Removes the object without trace: no event names it. If that fails, it is reported as abandoned. */
  discard(objectId: string): Promise<void>;

  /**
   * Returns the uploads left behind by dead processes; from now on they are this store's to settle. A process may be recognized
   * as dead only some seconds after the first call, or by the age of what it left.
   */
  abandoned(): Promise<AbandonedUpload[]>;

  /** Returns the bytes, or a range of them; rejects with `not_found` when the object does not exist or no longer does. */
  get(objectId: string, range?: ByteRange): Promise<Readable>;

  /** Whether the object exists; reads none of its bytes. */
  has(objectId: string): Promise<boolean>;

  /** Removes an object; a missing one is not an error. */
  delete(objectId: string): Promise<void>;

  /** Identity of the event log whose events name these documents; undefined when none was set. Rejects as `isEarlierFormat` throws. */
  log(): Promise<string | undefined>;

  /**
   * Durably records the identity of the log whose events name these documents, replacing the previous one, and the format of what
   * this program stores. Rejects as `isEarlierFormat` throws.
   */
  setLog(identity: string): Promise<void>;

  /** Resolves when the store is reachable and writable; rejects with `unavailable` after a few seconds without an answer. */
  check(): Promise<void>;

  close(): Promise<void>;
}
