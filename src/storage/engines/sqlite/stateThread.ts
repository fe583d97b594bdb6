import { Worker } from 'node:worker_threads';
import { unavailable } from '../../../platform/errors.ts';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import type {
  StateQuery,
  StateRow,
  StateScan,
  StateStore,
  StateTable,
  StateWrite,
} from '../../stateStore.ts';
import { fileProblem } from '../shared.ts';
import { purgeFreeSpace } from './file.ts';
import { SqliteStateStore } from './stateStore.ts';

const STORE = 'state store';
const ANSWER_WITHIN_MS = 3_000;
/** Maximum number of unanswered calls: beyond it, callers are told to come back later, so that memory stays bounded. */
const MAX_WAITING = 10_000;
/** Methods whose duration depends on the amount of data. */
const long: ReadonlySet<StateMethod> = new Set(['prune']);

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * The state in one SQLite file, read and written by a separate thread: a sync cannot be interrupted, and on a slow or stuck disk
 * it would block everything that the caller's thread does.
 */
export class SqliteStateThread implements StateStore {
  readonly isTransactional = true;
  readonly isOrdered = true;
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  /** Calls of this turn, which are handed over together. */
  #calls: StateCall[] = [];
  #worker: Worker | undefined;
  #last = 0;
  #closed = false;

  /** Opens the file, creating it and its folder when they do not exist; throws `unavailable`. */
  constructor(path: string) {
    // Checks here whether it can be opened, so that a failed start says why.
    void new SqliteStateStore(path).close();
    this.#path = path;
  }

  async load<Body extends object>(table: StateTable<Body>, ids: string[]): Promise<StateRow<Body>[]> {
    return checked(table, await this.#call('load', table.name, ids));
  }

  async page<Body extends object>(table: StateTable<Body>, query: StateQuery): Promise<StateRow<Body>[]> {
    return checked(table, await this.#call('page', table.name, query));
  }

  async scan<Body extends object>(table: StateTable<Body>, scan: StateScan): Promise<StateRow<Body>[]> {
    return checked(table, await this.#call('scan', table.name, scan));
  }

  async save<Body extends object>(table: StateTable<Body>, rows: StateRow<Body>[]): Promise<void> {
    await this.#call('save', table.name, rows);
  }

  async swap<Body extends object>(
    table: StateTable<Body>,
    row: StateRow<Body>,
    expected: number | undefined,
  ): Promise<boolean> {
    return (await this.#call('swap', table.name, row, expected)) as boolean;
  }

  async write(writes: readonly StateWrite[], options = {}): Promise<boolean> {
    const named = writes.map(({ table: { name }, ...write }) => ({ ...write, table: { name } }));
    return (await this.#call('write', named, options)) as boolean;
  }

  async remove<Body extends object>(table: StateTable<Body>, ids: string[], upTo: number): Promise<void> {
    await this.#call('remove', table.name, ids, upTo);
  }

  async prune<Body extends object>(table: StateTable<Body>, before: number): Promise<void> {
    await this.#call('prune', table.name, before);
  }

  async purge(signal?: AbortSignal): Promise<void> {
    try {
      await purgeFreeSpace(this.#path, signal);
    } catch (error) {
      throw unavailable(STORE, error, fileProblem(this.#path, error));
    }
  }

  async check(): Promise<void> {
    await this.#call('check');
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    this.#handOver();
    worker.postMessage('close');
    await ended;
  }

  /**
   * Returns the result of a call. Rejects with `unavailable`, also when there is no answer in time: it may still be carried out
   * then.
   */
  async #call(method: StateMethod, ...args: unknown[]): Promise<unknown> {
    if (this.#closed || this.#waiting.size >= MAX_WAITING) throw unavailable(STORE);
    const worker = this.#thread();
    this.#last += 1;
    const number = this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(number, { resolve, reject });
    // A process only has to stay alive for answers.
    if (this.#waiting.size === 1) worker.ref();
    this.#calls.push({ number, method, args });
    if (this.#calls.length === 1) setImmediate(() => this.#handOver());
    const problem = 'The disk of the state store does not answer within three seconds.';
    const giveUp = () => reject(unavailable(STORE, undefined, problem));
    const timer = long.has(method) ? undefined : setTimeout(giveUp, ANSWER_WITHIN_MS);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #handOver(): void {
    const calls = this.#calls;
    this.#calls = [];
    if (calls.length > 0) this.#worker?.postMessage(calls);
  }

  /** Returns the thread, which is started with the first call, and again after it ended. */
  #thread(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(workerUrl('stateWorker', import.meta.url), {
      workerData: { path: this.#path },
    });
    worker.unref();
    worker.on('message', (answers: StateAnswer[]) => {
      for (const answer of answers) this.#settle(answer);
    });
    worker.on('error', (error) => this.#failed(error));
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#failed();
    });
    this.#worker = worker;
    return worker;
  }

  #settle(answer: StateAnswer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    // A caller of `close` waits for its end.
    if (this.#waiting.size === 0 && !this.#closed) this.#worker?.unref();
    if ('result' in answer) waiting?.resolve(answer.result);
    else waiting?.reject(unavailable(STORE, undefined, answer.problem));
  }

  #failed(error?: Error): void {
    for (const { reject } of this.#waiting.values()) reject(unavailable(STORE, error));
    this.#waiting.clear();
  }
}

function checked<Body extends object>(table: StateTable<Body>, rows: unknown): StateRow<Body>[] {
  return (rows as StateRow<Body>[]).map((row) => ({ ...row, body: table.body.parse(row.body) }));
}

/** The methods carried out by the thread of a state store. */
type StateMethod = Exclude<keyof StateStore, 'isTransactional' | 'isOrdered' | 'purge' | 'close'>;

/** A call, with the arguments of the port's method, a table by its name. */
export interface StateCall {
  number: number;
  method: StateMethod;
  args: unknown[];
}

/** To the thread: calls in their order, or to end. */
export type StateRequest = StateCall[] | 'close';

/** From the thread: the result of a call; if it failed, what is wrong with the file, if known. */
export type StateAnswer = { number: number } & ({ result: unknown } | { problem: string | undefined });
