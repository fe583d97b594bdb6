import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import { checkpoint } from './eventLogFile.ts';

/**
 * Number of events between two checkpoints, about 12 MB of write-ahead log: small enough that the disk and commits run smoothly.
 */
const EVENTS = 2_000;

/**
 * Has a separate thread copy the write-ahead log into the file while commits continue, so that no commit waits for it. Commits
 * add to the log meanwhile: the last bit, after which the log restarts, is copied here, between two commits. The thread is started
 * with the first copy: most commands write less than that. Should it fail, everything is copied here.
 */
export class BackgroundCheckpoint {
  readonly #path: string;
  readonly #db: DatabaseSync;
  #worker: Worker | undefined;
  #events = 0;
  #copying = false;

  /** `db`: the writer's connection to the file at `path`. */
  constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
  }

  /** Reports the number of events added to the log. */
  committed(events: number): void {
    this.#events += events;
    if (this.#events < EVENTS || this.#copying) return;
    this.#copying = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage('copy');
  }

  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    const ended = new Promise((resolve) => this.#worker?.on('exit', resolve));
    this.#worker.postMessage('close');
    await ended;
  }

  #start(): Worker {
    const workerData = { path: this.#path };
    const worker = new Worker(workerUrl('checkpointWorker', import.meta.url), { workerData });
    worker.on('message', () => this.#copied());
    worker.on('error', () => {
      this.#worker = undefined;
      this.#copied();
    });
    return worker;
  }

  #copied(): void {
    checkpoint(this.#db);
    this.#events = 0;
    this.#copying = false;
  }
}
