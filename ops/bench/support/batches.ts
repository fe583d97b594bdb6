import { request } from 'node:http';
import type { Chartledger } from './chartledger.ts';
import { loadOf } from './load/answers.ts';
import { bodyOf, turnText } from './load/bodies.ts';
import type { Load } from './load/measuringProcess.ts';
import { firstTurn } from './load/requests.ts';

/** Patients of 1 KB: a batch of 64 MB, the maximum, has room for some 63,000. */
const MOST_RECORDS = 50_000;
const LINE_BREAK = 10;

/**
 * Returns lines that upsert the patients 0 to `records` - 1 once each, none identical to any sent before, in as few
 * batches as can hold them.
 */
export function prepareBatches(records: number): Buffer[] {
  let turn = firstTurn();
  const batches: Buffer[] = [];
  for (let first = 0; first < records; first += MOST_RECORDS) {
    const lines: string[] = [];
    for (let index = first; index < Math.min(records, first + MOST_RECORDS); index++)
      lines.push(`{"kind":"patient","record":${bodyOf('patients', index, turnText(turn++))}}\n`);
    batches.push(Buffer.from(lines.join('')));
  }
  return batches;
}

/**
 * Sends batches one after the other; figures are per record, whose latency is from the first byte of its batch to its
 * result. Rejects when a record was not stored.
 */
export async function sendBatches(server: Chartledger, batches: Buffer[]): Promise<Load> {
  const latencies: Float64Array[] = [];
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  for (const batch of batches) latencies.push(await sendBatch(server, batch));
  const milliseconds = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  return loadOf({
    latencies: Float64Array.from(latencies.flatMap((ofBatch) => [...ofBatch])).sort(),
    milliseconds,
    clientMicroseconds: user + system,
    endedAt: Date.now(),
  });
}

/** Resolves with the latency of each result, in milliseconds. */
async function sendBatch({ url, stores }: Chartledger, batch: Buffer): Promise<Float64Array> {
  const headers = {
    'x-api-key': stores.key.key,
    'content-type': 'application/x-ndjson',
    'content-length': batch.length,
  };
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  const arrivedAt: number[] = [];
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const outgoing = request(`${url}/integration/batch`, { method: 'POST', headers, agent: false }, (res) => {
      res.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        arrivedAt.push(performance.now() - startedAt);
      });
      res.on('error', reject);
      res.on('end', () => resolve(res.statusCode));
    });
    outgoing.on('error', reject);
    outgoing.end(batch);
  });
  return latenciesOf({ status, chunks, arrivedAt });
}

/** Reads a response in chunks: anything that its summary does not report as stored is an error. */
function latenciesOf(answer: {
  status: number | undefined;
  chunks: Buffer[];
  arrivedAt: number[];
}): Float64Array {
  const { status, chunks, arrivedAt } = answer;
  const last = Buffer.concat(chunks).toString().trimEnd().split('\n').at(-1) ?? '';
  const { summary } = JSON.parse(last) as { summary?: { lines: number; accepted: number } };
  if (status !== 200 || summary === undefined || summary.accepted !== summary.lines)
    throw new Error(`a batch: ${status} ${last}`);
  const latencies = new Float64Array(summary.lines);
  let told = 0;
  for (const [index, chunk] of chunks.entries()) {
    let results = 0;
    for (const byte of chunk) if (byte === LINE_BREAK) results++;
    latencies.fill(arrivedAt[index] as number, told, told + results);
    told += results;
  }
  return latencies;
}
