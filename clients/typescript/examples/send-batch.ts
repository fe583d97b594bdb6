import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type BatchLine, Chartledger } from 'chartledger-client';

const { CHARTLEDGER_URL: url = 'http://127.0.0.1:3000', CHARTLEDGER_API_KEY: apiKey = '' } = process.env;
const chartledger = new Chartledger({ url, apiKey });

/** Records from a file of JSON lines, each {"kind": …, "record": …}. It is read as fast as the records are taken. */
async function* readRecords(path: string): AsyncGenerator<BatchLine> {
  for await (const line of createInterface({ input: createReadStream(path) })) yield JSON.parse(line);
}

let stored = 0;
for await (const result of chartledger.batch(readRecords(process.argv[2] ?? 'records.ndjson'))) {
  if (result.status === 200) stored += 1;
  else process.stdout.write(`line ${result.line}: ${result.error}\n`);
}
process.stdout.write(`${stored} stored\n`);
