import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ServiceError } from '../../../platform/errors.ts';
import type { StateTable } from '../../stateStore.ts';
import { SqliteStateStore } from './stateStore.ts';
import type { StateAnswer, StateCall, StateRequest } from './stateThread.ts';

if (parentPort === null) throw new Error('stateWorker runs as a worker thread');
const port = parentPort;
// The thread that starts this one has created the file: one that is missing now is not created again.
if (!existsSync(workerData.path)) throw new Error('The state store is missing.');
const store = new SqliteStateStore(workerData.path);

/** Bodies are validated by the caller. */
const unchecked = (name: string) =>
  ({ name, body: { parse: (body: unknown) => body } }) as unknown as StateTable<object>;

const failure = (number: number, error: unknown): StateAnswer => ({
  number,
  problem: error instanceof ServiceError ? error.problem : undefined,
});

async function execute({ number, method, args }: StateCall): Promise<StateAnswer> {
  const [table, ...more] = args;
  const given = typeof table === 'string' ? [unchecked(table), ...more] : args;
  try {
    const call = store[method] as (...all: unknown[]) => Promise<unknown>;
    return { number, result: await call.apply(store, given) };
  } catch (error) {
    return failure(number, error);
  }
}

let answers: StateAnswer[] = [];

function postAnswers(): void {
  const posted = answers;
  answers = [];
  port.postMessage(posted);
}

/** Answers that are there in the same turn are posted together. */
function answer(one: StateAnswer): void {
  answers.push(one);
  if (answers.length === 1) process.nextTick(postAnswers);
}

/** Calls that came together share a sync of the disk: the statements of each are done when its promise is returned. */
function executeAll(calls: readonly StateCall[]): void {
  const answered: Promise<StateAnswer>[] = [];
  const executeEach = () => answered.push(...calls.map(execute));
  try {
    if (calls.length === 1) executeEach();
    else store.group(executeEach);
    for (const one of answered) void one.then(answer);
  } catch (error) {
    for (const { number } of calls) answer(failure(number, error));
  }
}

/** How long a call that may wait does. */
const WAIT_MS = 20;

let gathered: StateCall[] = [];
let next: NodeJS.Immediate | undefined;
let later: NodeJS.Timeout | undefined;

function executeGathered(): void {
  clearImmediate(next);
  clearTimeout(later);
  next = undefined;
  later = undefined;
  const calls = gathered;
  gathered = [];
  if (calls.length > 0) executeAll(calls);
}

const mayWait = ({ method, args }: StateCall) =>
  method === 'write' && (args[1] as { mayWait?: boolean }).mayWait === true;

port.on('message', async (message: StateRequest) => {
  if (message !== 'close') {
    gathered.push(...message);
    if (message.every(mayWait)) later ??= setTimeout(executeGathered, WAIT_MS);
    else next ??= setImmediate(executeGathered);
    return;
  }
  executeGathered();
  await store.close();
  // Behind the answers.
  setImmediate(() => port.close());
});
