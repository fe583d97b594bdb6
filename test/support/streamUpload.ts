import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import type { Client } from './client.ts';
import { boundary, documentsPath, formBody, formType, part } from './documents.ts';

const CHUNK = Buffer.alloc(256 * 1024, 'chartledger\n');

/** The bytes of a PDF of this size, without holding them. */
export function* pdfBytes(size: number): Generator<Buffer> {
  const start = Buffer.from('%PDF-1.7\n');
  yield start;
  for (let left = size - start.length; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left);
}

/** The form around a file: what goes before its bytes, and what after. */
function around(documentId: string): [Buffer, Buffer] {
  const fields = [part.field('document_id', documentId), part.field('category', 'medical_record')];
  const whole = formBody([...fields, part.file(Buffer.alloc(0))]);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return [whole.subarray(0, whole.length - after.length), after];
}

/** Begins an upload over HTTP: everything up to the file's first bytes has been sent. */
export function beginUpload(client: Client, encounterId: string, documentId: string): ClientRequest {
  const { hostname, port } = new URL(client.url);
  const headers = { ...formType, ...(client.key !== undefined && { 'x-api-key': client.key }) };
  const outgoing = request({
    hostname,
    port,
    path: documentsPath(encounterId),
    method: 'POST',
    headers,
    agent: false,
  });
  outgoing.on('error', () => undefined);
  outgoing.write(Buffer.concat([around(documentId)[0], Buffer.from('%PDF-1.7\n')]));
  return outgoing;
}

export interface UploadAnswer {
  status: number;
  body: Record<string, unknown>;
}

async function readAnswer(res: IncomingMessage): Promise<UploadAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk);
  return { status: res.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** Sends a small file and the end of an upload that was begun; answers with the status and body. */
export async function endUpload(outgoing: ClientRequest): Promise<UploadAnswer> {
  outgoing.end(Buffer.concat([...pdfBytes(1_000), around('')[1]]));
  const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
  return readAnswer(res);
}

/** Uploads a PDF of this size out of a generator, with `Content-Length` or chunked; answers with the status and body. */
export function streamUpload(
  client: Client,
  encounterId: string,
  documentId: string,
  size: number,
  chunked: boolean,
): Promise<UploadAnswer> {
  const [before, after] = around(documentId);
  const { hostname, port } = new URL(client.url);
  const length = chunked ? {} : { 'content-length': String(before.length + size + after.length) };
  return new Promise((resolve, reject) => {
    const headers = { ...formType, ...length, 'x-api-key': client.key ?? '' };
    const outgoing = request(
      { hostname, port, path: documentsPath(encounterId), method: 'POST', headers, agent: false },
      (res) => resolve(readAnswer(res)),
    );
    outgoing.on('error', reject);
    const bytes = function* () {
      yield before;
      yield* pdfBytes(size);
      yield after;
    };
    Readable.from(bytes()).pipe(outgoing);
  });
}
