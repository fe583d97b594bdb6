import { Transform, type TransformCallback } from 'node:stream';
import type { DocumentFormat } from '../../../domain/records/document.ts';
import { docxDefect } from './docx.ts';
import type { RangedFile } from './zipArchive.ts';

/** Readers accept a PDF whose header is within its first 1,024 bytes (ISO 32000-1, annex H, note 13). */
const PDF_HEADER_WITHIN = 1024;
const PDF_HEADER = '%PDF-';
const HEAD_BYTES = PDF_HEADER_WITHIN + PDF_HEADER.length;
/** Begins an OLE compound file: an encrypted DOCX ([MS-OFFCRYPTO] 1.3.3), or a document of Word before 2007. */
const OLE_SIGNATURE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

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

  /** Whether the bytes passed are those of an OLE compound file. */
  get isOle(): boolean {
    return this.#bytes.subarray(0, OLE_SIGNATURE.length).equals(OLE_SIGNATURE);
  }
}

/** What is wrong with a file that is neither a PDF nor a DOCX, by both its name and its content (spec section 8). */
const defects = {
  name: 'its name ends with neither',
  notPdf: 'its name ends with .pdf, but its content is not a PDF',
  pdf: 'its name ends with .docx, but its content is a PDF',
  other: 'its name ends with .docx, but its content is not a Word document',
  encrypted: 'it is protected with a password, or is an old Word document (.doc)',
  macros: 'it is a Word document with macros (.docm)',
  template: 'it is a Word template (.dotx)',
  damaged: 'it is a DOCX, but damaged',
  oversized: 'it is a DOCX with more than 10,000 entries, or with lists of them that are too long',
} as const;

/** What is wrong with a file that is neither a PDF nor a DOCX. */
export type FormatDefect = keyof typeof defects;

/** A file's format, or why it has none. */
export type RecognizedFormat = { format: DocumentFormat } | { defect: FormatDefect };

/** Returns the message of an error about such a file. */
export function formatMessage(defect: FormatDefect): string {
  return `must be a PDF (.pdf) or DOCX (.docx): ${defects[defect]}`;
}

/**
 * Returns the format of a stored file by its name and content, which must agree. Rejects as `file.read` does, and with the
 * reason of `file.signal` once that is aborted.
 */
export async function recognizeFormat(
  filename: string,
  head: FileHead,
  file: RangedFile,
): Promise<RecognizedFormat> {
  const extension = /\.(pdf|docx)$/i.exec(filename)?.[1]?.toLowerCase();
  if (extension === undefined) return { defect: 'name' };
  if (extension === 'pdf') return head.isPdf ? { format: 'pdf' } : { defect: 'notPdf' };
  if (head.isOle) return { defect: 'encrypted' };
  const defect = await docxDefect(file);
  if (defect === undefined) return { format: 'docx' };
  return { defect: defect === 'other' && head.isPdf ? 'pdf' : defect };
}
