import { createHash } from 'node:crypto';
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import type { DocumentUploaded } from '../../../domain/records/document.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ByteRange } from '../../../storage/documentStore.ts';

/** The bytes that the store holds under an object's name are not those that were uploaded. */
export class DocumentMismatch extends ServiceError {
  readonly objectId: string;

  constructor(objectId: string) {
    super('internal', 'The stored document is not the one that was uploaded.');
    this.name = 'DocumentMismatch';
    this.objectId = objectId;
  }
}

type Expected = Pick<DocumentUploaded, 'object_id' | 'size' | 'sha256'>;

/**
 * Passes on a document's bytes from the store, hashing them on the way. When they are not those that were uploaded,
 * it fails with `DocumentMismatch` before the last of them, so that nobody receives the whole document.
 */
export function checkedContent(content: Readable, expected: Expected): Readable {
  return pipeline(content, new DigestCheck(expected), () => undefined);
}

/**
 * Passes on a part of a document's bytes from the store. Fails with `DocumentMismatch` at its end when it is not as long as
 * it should be: what is sent after it on the same connection would be taken for the rest.
 */
export function checkedPart(content: Readable, expected: Expected, { start, end }: ByteRange): Readable {
  let missing = end - start + 1;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      missing -= chunk.length;
      done(null, chunk);
    },
    flush: (done) => done(missing === 0 ? null : new DocumentMismatch(expected.object_id)),
  });
  return pipeline(content, check, () => undefined);
}

class DigestCheck extends Transform {
  readonly #expected: Expected;
  readonly #hash = createHash('sha256');
  #size = 0;
  /** Passed on when the next chunk arrives, or at the end when all is well. */
  #held: Buffer | undefined;

  constructor(expected: Expected) {
    super();
    this.#expected = expected;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#hash.update(chunk);
    this.#size += chunk.length;
    const passed = this.#held;
    this.#held = chunk;
    if (this.#size > this.#expected.size) done(new DocumentMismatch(this.#expected.object_id));
    else done(null, passed);
  }

  override _flush(done: TransformCallback): void {
    const { object_id, size, sha256 } = this.#expected;
    if (this.#size === size && this.#hash.digest('hex') === sha256) done(null, this.#held);
    else done(new DocumentMismatch(object_id));
  }
}
