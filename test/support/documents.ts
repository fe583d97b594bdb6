import { documentStream } from '../../src/domain/events/streams.ts';
import type { Client } from './client.ts';
import { phi } from './phi.ts';
import { pdf, samples } from './samples.ts';

/** Makes a patient and an encounter; answers with the encounter's id. */
export async function createEncounter(client: Client, id = phi('encounter')): Promise<string> {
  const patient = samples.patient();
  await client.post('/integration/patients', patient);
  const { status } = await client.post('/integration/encounters', { id, patient_id: patient.id });
  if (status !== 200) throw new Error('the encounter was not made');
  return id;
}

/** The path of an encounter's documents, or of one of them. */
export function documentsPath(encounterId: string, documentId?: string): string {
  const collection = `/integration/encounters/${encodeURIComponent(encounterId)}/documents`;
  return documentId === undefined ? collection : `${collection}/${encodeURIComponent(documentId)}`;
}

export interface Upload {
  document_id?: string;
  category?: string;
  content?: Buffer;
  filename?: string;
}

/** A whole form for an upload; the document's id is fresh unless given. */
export function documentForm(upload: Upload = {}): FormData {
  const {
    document_id = phi('document'),
    category = 'lab_results',
    content = pdf(),
    filename = 'report.pdf',
  } = upload;
  const form = new FormData();
  form.append('document_id', document_id);
  form.append('category', category);
  form.append('file', new Blob([new Uint8Array(content)]), filename);
  return form;
}

/** How `appendedBy` shows an event of a document. */
export function documentLine(encounterId: string, documentId: string, type = 'DocumentUploaded'): string {
  return `${documentStream('clinic', encounterId, documentId)}: ${type}`;
}

/** One part of a form, to the byte: its header lines and its content. */
export type Part = [headers: string, content: string | Buffer];

export const boundary = 'test-boundary';

export const part = {
  field: (name: string, value: string | Buffer): Part => [
    `Content-Disposition: form-data; name="${name}"`,
    value,
  ],
  file: (content: Buffer, filename = 'report.pdf', name = 'file'): Part => [
    `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: application/octet-stream`,
    content,
  ],
};

/** The body of a form, to the byte, with the boundary `boundary`; `end` false leaves out what closes it. */
export function formBody(parts: Part[], end = true): Buffer {
  const pieces = parts.flatMap(([headers, content]) => [
    Buffer.from(`--${boundary}\r\n${headers}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat(end ? [...pieces, Buffer.from(`--${boundary}--\r\n`)] : pieces);
}

export const formType = { 'content-type': `multipart/form-data; boundary=${boundary}` };
