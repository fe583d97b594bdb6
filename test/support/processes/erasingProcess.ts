import { openEventLog } from '../../../src/server/openStorage.ts';
import { erase } from '../erasure.ts';
import { TestWorkspace } from '../samples.ts';

/** Appends so many events that hold a text to a stream of the log at a URL, erases them, says so and waits to be killed. */
const [url = '', count = '', text = ''] = process.argv.slice(2);
const log = await openEventLog(url);
const workspace = new TestWorkspace();
const stream = workspace.stream();
for (let n = 0; n < Number(count); n += 1) await workspace.append(log, stream, { text: text.repeat(n + 1) });
await erase(log, workspace, stream);
process.stdout.write('erased\n');
setInterval(() => undefined, 60_000);
