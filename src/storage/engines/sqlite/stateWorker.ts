import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ServiceError } from '../../../platform/errors.ts';
import type { StateTable } from '../../stateStore.ts';
import { SqliteStateStore } from './stateStore.ts';
import type { StateAnswer, StateCall } from './stateThread.ts';

if (parentPort === null) throw new Error('stateWorker runs as a worker thread');
const port = parentPort;
// The thread that starts this one has created the file: one that is missing now is not created again.
if (!existsSync(workerData.path)) throw new Error('The state store is missing.');
const store = new SqliteStateStore(workerData.path);

/** Bodies are validated by the caller. */
const unchecked = (name: string) =>
  ({ name, body: { parse: (body: unknown) => body } }) as unknown as StateTable<object>;

type Call = Exclude<StateCall, 'close'>;

const failure = (number: number, error: unknown): StateAnswer => ({
  number,
  problem: error instanceof ServiceError ? error.problem : undefined,
});

async function execute({ number, method, args }: Call): Promise<StateAnswer> {
  const [table, ...more] = args;
  const given = typeof table === 'string' ? [unchecked(table), ...more] : args;
  try {
    const call = store[method] as (...all: unknown[]) => Promise<unknown>;
    return { number, result: await call.apply(store, given) };
  } catch (error) {
    return failure(number, error);
  }
}

const answer = async (answered: Promise<StateAnswer>) => port.postMessage(await answered);

/** Calls that came together share a sync of the disk: the statements of each are done when its promise is returned. */
function executeAll(calls: readonly Call[]): void {
  const answers: Promise<StateAnswer>[] = [];
  try {
    store.group(() => answers.push(...calls.map(execute)));
    for (const answered of answers) void answer(answered);
  } catch (error) {
    for (const { number } of calls) port.postMessage(failure(number, error));
  }
}

let gathered: Call[] = [];

function executeGathered(): void {
  const calls = gathered;
  gathered = [];
  const [first] = calls;
  if (first && calls.length === 1) void answer(execute(first));
  else executeAll(calls);
}

port.on('message', async (message: StateCall) => {
  if (message !== 'close') {
    gathered.push(message);
    if (gathered.length === 1) setImmediate(executeGathered);
    return;
  }
  executeGathered();
  await store.close();
  port.close();
});
