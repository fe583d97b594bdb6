import { Transform, type TransformCallback } from 'node:stream';
import { fileTypeFromBuffer } from 'file-type';
import type { DocumentFormat } from '../records/document.ts';

/** Enough for a PDF's header and for the first entry of a DOCX that tells it from other ZIP files. */
const HEAD_BYTES = 256 * 1024;
/** Readers accept a PDF whose header stands within its first 1,024 bytes (ISO 32000-1, annex H, note 13). */
const PDF_HEADER_WITHIN = 1024;
const PDF_HEADER = '%PDF-';

/** Passes a file's bytes through and keeps the first ones, by which its format is told. */
export class FileHead extends Transform {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#length < HEAD_BYTES) {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
    }
    done(null, chunk);
  }

  /**
   * The format by a file's name and by its first bytes; undefined when the two do not agree on PDF or DOCX
   * (spec section 8).
   */
  async format(filename: string): Promise<DocumentFormat | undefined> {
    const head = Buffer.concat(this.#chunks);
    const extension = /\.(pdf|docx)$/i.exec(filename)?.[1]?.toLowerCase();
    if (extension === 'pdf') {
      const start = head.subarray(0, PDF_HEADER_WITHIN + PDF_HEADER.length);
      return start.includes(PDF_HEADER) ? 'pdf' : undefined;
    }
    if (extension === 'docx') {
      // It throws on a ZIP file that is damaged.
      const type = await fileTypeFromBuffer(head).catch(() => undefined);
      return type?.ext === 'docx' ? 'docx' : undefined;
    }
    return undefined;
  }
}
