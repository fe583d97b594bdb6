import { Transform, type TransformCallback } from 'node:stream';
import type { DocumentFormat } from '../../../domain/records/document.ts';
import { isDocx, type ReadRange } from './isDocx.ts';

/** Readers accept a PDF whose header is within its first 1,024 bytes (ISO 32000-1, annex H, note 13). */
const PDF_HEADER_WITHIN = 1024;
const PDF_HEADER = '%PDF-';
const HEAD_BYTES = PDF_HEADER_WITHIN + PDF_HEADER.length;

/** Passes a file's bytes through and keeps the first ones, by which a PDF is recognized. */
export class FileHead extends Transform {
  #bytes = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const missing = HEAD_BYTES - this.#bytes.length;
    if (missing > 0) this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, missing)]);
    done(null, chunk);
  }

  /** Whether the bytes passed are those of a PDF. */
  get isPdf(): boolean {
    return this.#bytes.includes(PDF_HEADER);
  }
}

/**
 * Returns the format of a stored file by its name and content; undefined when the two do not agree on PDF or DOCX (spec section
 * 8). Rejects as `read` does, and with the reason of `signal` once that is aborted.
 */
export async function documentFormat(
  filename: string,
  head: FileHead,
  size: number,
  read: ReadRange,
  signal?: AbortSignal,
): Promise<DocumentFormat | undefined> {
  const extension = /\.(pdf|docx)$/i.exec(filename)?.[1]?.toLowerCase();
  if (extension === 'pdf') return head.isPdf ? 'pdf' : undefined;
  if (extension === 'docx') return (await isDocx(size, read, signal)) ? 'docx' : undefined;
  return undefined;
}
