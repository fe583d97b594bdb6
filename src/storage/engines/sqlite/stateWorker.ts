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

async function execute({ number, method, args }: Exclude<StateCall, 'close'>): Promise<StateAnswer> {
  const [table, ...more] = args;
  const given = typeof table === 'string' ? [unchecked(table), ...more] : args;
  try {
    const call = store[method] as (...all: unknown[]) => Promise<unknown>;
    return { number, result: await call.apply(store, given) };
  } catch (error) {
    return { number, problem: error instanceof ServiceError ? error.problem : undefined };
  }
}

port.on('message', async (message: StateCall) => {
  if (message !== 'close') {
    port.postMessage(await execute(message));
    return;
  }
  await store.close();
  port.close();
});
