import { connect } from 'node:net';
import { constants, setPriority } from 'node:os';
import { BATCHES, BODIES, RATE_LIMIT, STREAMS, sendBatch, UPLOADS, WAITS } from './hostileNeighbor.ts';

const MEBIBYTE = 1024 * 1024;
/** With the requests that are left it sends batches of so many lines, one after another. */
const LINES = 2_000;

const [url = '', key = ''] = process.argv.slice(2);
// Another machine's processors would do this work: it gets only what the service and its other clients leave.
setPriority(constants.priority.PRIORITY_LOW);

/** Sends a request and reads nothing. */
function open(request: string, headers: string[], body = ''): void {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  const head = [`${request} HTTP/1.1`, 'host: localhost', `x-api-key: ${key}`, ...headers];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function stall(path: string, type: string, length: number, body: string): void {
  open(`POST ${path}`, [`content-type: ${type}`, `content-length: ${length}`], body);
}

const part = `--b\r\ncontent-disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7\n`;
for (let n = 0; n < STREAMS; n += 1) open('GET /events', ['accept: text/event-stream']);
for (let n = 0; n < BODIES; n += 1)
  stall('/fhir', 'application/fhir+json', 16 * MEBIBYTE, ' '.repeat(16 * MEBIBYTE - 1));
for (let n = 0; n < BATCHES; n += 1) stall('/integration/batch', 'application/x-ndjson', MEBIBYTE, '{}\n');
for (let n = 0; n < UPLOADS; n += 1)
  stall('/integration/encounters/e/documents', 'multipart/form-data; boundary=b', MEBIBYTE, part);
for (let n = 0; n < WAITS; n += 1) {
  const body = JSON.stringify({ id: `waiting-${n}`, patient_id: 'nobody', date_of_service: '2026-03-14' });
  stall('/integration/encounters?wait=10', 'application/json', body.length, body);
}
const left = RATE_LIMIT - STREAMS - BODIES - BATCHES - UPLOADS - WAITS;
for (let n = 0; n < left; n += 1) await sendBatch(url, key, LINES, `${n}`);
