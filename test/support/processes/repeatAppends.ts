import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { NewEvent } from '../../../src/domain/events/event.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';
import { sendUntilAccepted } from '../client.ts';

/**
 * Appends the events of a line of JSON to one stream of the log at a URL, some at once and each until it is
 * acknowledged, and prints lines: `ready` for them, `refused` and come back, and for each place `REVISION ID`.
 */
const [url = '', stream = ''] = process.argv.slice(2);
const log = await openEventLog(url);
process.stdout.write('ready\n');
const [line] = await once(createInterface({ input: process.stdin }), 'line');
const events: NewEvent[] = JSON.parse(line);

async function appendRest(): Promise<void> {
  for (let event = events.shift(); event; event = events.shift()) {
    const { revision } = await sendUntilAccepted(log, stream, event, () => process.stdout.write('refused\n'));
    process.stdout.write(`${revision} ${event.id}\n`);
  }
}

await Promise.all(Array.from({ length: 4 }, appendRest));
await log.close();
process.exit();
