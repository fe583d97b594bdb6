import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { Chartledger } from 'chartledger-client';

const { CHARTLEDGER_URL: url = 'http://127.0.0.1:3000', CHARTLEDGER_API_KEY: apiKey = '' } = process.env;
const chartledger = new Chartledger({ url, apiKey });
const file = 'position.txt';
const checkpoint = {
  load: () => (existsSync(file) ? readFile(file, 'utf8') : undefined),
  async save(position: string) {
    await writeFile(`${file}.new`, position);
    await rename(`${file}.new`, file);
  },
};

// Goes on where it stopped, also when the service or this program was restarted.
for await (const event of chartledger.events({ kinds: ['payer', 'patient'], checkpoint })) {
  process.stdout.write(`${event.subject} version ${event.data.version}: ${event.data.changed.join(', ')}\n`);
}
