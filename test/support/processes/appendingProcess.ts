import { workspaceOfStream } from '../../../src/domain/events/streams.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';
import { TestWorkspace } from '../samples.ts';

/** Appends to one stream of the log at a URL, many at once, and prints each acknowledged event, until killed. */
const [url = '', stream = ''] = process.argv.slice(2);
const log = await openEventLog(url);
const workspace = new TestWorkspace(workspaceOfStream(stream));

async function appendForEver(): Promise<never> {
  for (;;) {
    const event = workspace.event({ filler: 'x'.repeat(500) });
    const { revision } = await log.append(stream, event, 'any');
    process.stdout.write(`${revision} ${event.id}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, appendForEver));
