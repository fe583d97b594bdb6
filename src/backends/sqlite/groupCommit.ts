import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../../errors.ts';
import { versionConflict } from '../../ports/appendRefusals.ts';
import type { Appended } from '../../ports/eventLog.ts';
import { workerUrl } from '../../workerUrl.ts';
import type { AppendOutcome, AppendRequest, WriterMessage } from './appendProtocol.ts';

interface Waiting {
  request: AppendRequest;
  resolve(appended: Appended): void;
  reject(error: Error): void;
}

/** Appends that wait at the most: beyond it callers are told to come back, so that memory stays bounded. */
const MAX_WAITING = 20_000;
const MAX_BATCH = 2_000;
const COMMIT_TIMEOUT_MS = 3_000;

/**
 * Hands appends to the writer thread: those that arrive while one commit runs share the next one. The caller's
 * thread never touches the disk.
 */
export class GroupCommit {
  readonly #worker: Worker;
  #waiting: Waiting[] = [];
  #committing: Waiting[] | undefined;
  #lastBatch = 0;
  #turnEnd: NodeJS.Immediate | undefined;
  #timeout: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (message: WriterMessage) => this.#settle(message));
    worker.on('error', (error) => this.#fail(unavailable('event log', error)));
    worker.on('exit', () => this.#fail(unavailable('event log')));
  }

  /** Resolves when the file is open; rejects when it cannot be opened. */
  static async open(path: string): Promise<GroupCommit> {
    const worker = new Worker(workerUrl('appendWorker', import.meta.url), { workerData: { path } });
    await once(worker, 'message');
    return new GroupCommit(worker);
  }

  /** Whether its thread is gone, by `close` or by a failure: it takes no more appends. */
  get ended(): boolean {
    return this.#closed;
  }

  append(request: AppendRequest): Promise<Appended> {
    if (this.#closed || this.#waiting.length >= MAX_WAITING) return Promise.reject(unavailable('event log'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#committing === undefined) this.#commitSoon();
    });
  }

  /** Waits for what was accepted, then ends the thread. */
  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    if (this.#worker.threadId === -1) return;
    while (this.#committing) await Promise.race([once(this.#worker, 'message'), exited]);
    this.#closed = true;
    this.#worker.postMessage('close');
    await exited;
  }

  /**
   * Commits what waits when that is half of the last batch, at the latest at the end of this turn of the loop. Requests
   * come in bursts, as their forerunners were answered: taking the first one alone would leave all others waiting
   * for it, and the two threads would work in turns instead of side by side.
   */
  #commitSoon(): void {
    if (this.#waiting.length * 2 >= this.#lastBatch) this.#commitNext();
    else this.#turnEnd ??= setImmediate(() => this.#commitNext());
  }

  #commitNext(): void {
    clearImmediate(this.#turnEnd);
    this.#turnEnd = undefined;
    if (this.#committing !== undefined || this.#waiting.length === 0) return;
    this.#committing = this.#waiting.splice(0, MAX_BATCH);
    this.#lastBatch = this.#committing.length;
    this.#worker.postMessage(this.#committing.map(({ request }) => request));
    this.#timeout = setTimeout(() => this.#giveUp(), COMMIT_TIMEOUT_MS);
  }

  #settle(message: WriterMessage): void {
    if (message.kind === 'ready') return;
    clearTimeout(this.#timeout);
    const batch = this.#committing ?? [];
    this.#committing = undefined;
    this.#commitNext();
    if (message.kind === 'failed') {
      const error = unavailable(
        'event log',
        Object.assign(new Error('commit failed'), { code: message.code }),
      );
      for (const { reject } of batch) reject(error);
    } else {
      for (const [index, waiting] of batch.entries())
        settleOne(waiting, message.outcomes[index] as AppendOutcome);
    }
  }

  /** The disk is stuck: callers are answered, the order of batches is kept, nothing new is taken until it moves. */
  #giveUp(): void {
    const error = unavailable('event log');
    for (const { reject } of [...(this.#committing ?? []), ...this.#waiting.splice(0)]) reject(error);
    this.#timeout = setTimeout(() => this.#giveUp(), COMMIT_TIMEOUT_MS);
  }

  #fail(error: Error): void {
    this.#closed = true;
    clearTimeout(this.#timeout);
    const batch = [...(this.#committing ?? []), ...this.#waiting.splice(0)];
    this.#committing = undefined;
    for (const { reject } of batch) reject(error);
  }
}

function settleOne({ resolve, reject }: Waiting, outcome: AppendOutcome): void {
  if (!('conflict' in outcome)) resolve(outcome);
  else reject(versionConflict(outcome.conflict + 1));
}
