import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../../domain/events/event.ts';
import { refusedSchema } from './client.ts';
import { type ImportJob, note, recordResult } from './send.ts';
import { type DocumentFile, ImportError } from './source.ts';
import type { SendResult } from './state.ts';

/** Number of documents sent concurrently. */
const AT_ONCE = 4;

const uploadedSchema = z.object({ success: z.literal(true), version: z.int() });

/** Uploads documents, continuing from the import's progress. Rejects with `ImportError`, or an `AbortError` after `stop`. */
export async function sendDocuments(job: ImportJob, documents: readonly DocumentFile[]): Promise<void> {
  for (
    let done = job.state.progress.documents;
    done < documents.length;
    done = job.state.progress.documents
  ) {
    const lot = documents.slice(done, done + AT_ONCE);
    const results = await Promise.all(lot.map((document, index) => upload(job, document, done + index)));
    for (const [index, { source, documentId }] of lot.entries()) {
      recordResult(job, { kind: 'document', source, id: documentId }, results[index] as SendResult);
    }
    job.progress.advance(lot.length);
    note(job, { documents: done + lot.length });
  }
}

async function upload(
  { client, state }: ImportJob,
  document: DocumentFile,
  number: number,
): Promise<SendResult> {
  const { status, text } = await client.send({
    path: `/integration/encounters/${encodeURIComponent(document.encounterId)}/documents`,
    idempotencyKey: `import-${state.progress.run}-document-${number}`,
    isLong: true,
    body: () => formOf(document),
  });
  const body = parseJson(text);
  const uploaded = uploadedSchema.safeParse(body);
  if (status === 200 && uploaded.success) {
    const outcome = uploaded.data.version === 1 ? 'created' : 'updated';
    return { accepted: true, outcome, warnings: [] };
  }
  const refused = refusedSchema.safeParse(body).data;
  if (refused === undefined) throw client.stranger(status);
  return { accepted: false, status, error: refused.error, details: refused.details };
}

async function formOf({ path, documentId, category }: DocumentFile): Promise<FormData> {
  const form = new FormData();
  form.append('document_id', documentId);
  form.append('category', category);
  try {
    // The file is read while it is being sent.
    form.append('file', await openAsBlob(path), basename(path));
  } catch {
    // Its path names an encounter, which only the reports may reveal.
    throw new ImportError('A document in the folder can no longer be read.');
  }
  return form;
}
