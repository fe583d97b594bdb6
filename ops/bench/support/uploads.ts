import { createReadStream, statSync } from 'node:fs';
import { request } from 'node:http';
import type { Chartledger } from './chartledger.ts';

const BOUNDARY = 'bench-boundary';
const READ_BYTES = 1024 * 1024;

function field(name: string, value: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

/** Uploads a PDF to an encounter; resolves with the seconds until the response. Rejects when that is not 200. */
export function upload(
  { url, stores }: Chartledger,
  document: { encounter: string; id: string; path: string },
): Promise<number> {
  const head = Buffer.from(
    field('document_id', document.id) +
      field('category', 'lab_results') +
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="results.pdf"\r\n` +
      'Content-Type: application/pdf\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  const headers = {
    'x-api-key': stores.key.key,
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    'content-length': head.length + statSync(document.path).size + tail.length,
  };
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const path = `${url}/integration/encounters/${document.encounter}/documents`;
    const outgoing = request(path, { method: 'POST', headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        if (res.statusCode === 200) resolve((performance.now() - startedAt) / 1000);
        else reject(new Error(`upload: ${res.statusCode} ${Buffer.concat(chunks)}`));
      });
    });
    outgoing.on('error', reject);
    outgoing.write(head);
    const file = createReadStream(document.path, { highWaterMark: READ_BYTES });
    file.on('error', reject);
    file.on('end', () => outgoing.end(tail));
    file.pipe(outgoing, { end: false });
  });
}
