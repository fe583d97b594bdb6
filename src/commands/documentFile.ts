import { Readable } from 'node:stream';
import { fileTypeFromBuffer } from 'file-type';
import type { DocumentFormat } from '../records/document.ts';

/** Enough for a PDF's header and a DOCX's first entries. */
const SAMPLE_BYTES = 64 * 1024;
/** Readers accept a PDF whose header stands within its first 1,024 bytes (ISO 32000-1, annex H, note 13). */
const PDF_HEADER_WITHIN = 1024;

/** The first bytes of a stream, and a stream of all its bytes. */
export async function sample(source: Readable): Promise<{ head: Buffer; whole: Readable }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of source.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= SAMPLE_BYTES) break;
  }
  const head = Buffer.concat(chunks);
  const rest = async function* () {
    yield head;
    if (!source.readableEnded) yield* source;
  };
  return { head, whole: Readable.from(rest(), { objectMode: false, highWaterMark: SAMPLE_BYTES }) };
}

/**
 * The format of a document by its name and its first bytes; undefined when the two do not agree on PDF or DOCX
 * (spec section 8).
 */
export async function detectFormat(filename: string, head: Buffer): Promise<DocumentFormat | undefined> {
  const extension = /\.(pdf|docx)$/i.exec(filename)?.[1]?.toLowerCase();
  if (extension === 'pdf') {
    return head.subarray(0, PDF_HEADER_WITHIN + 5).includes('%PDF-') ? 'pdf' : undefined;
  }
  if (extension === 'docx') {
    return (await fileTypeFromBuffer(head))?.ext === 'docx' ? 'docx' : undefined;
  }
  return undefined;
}
