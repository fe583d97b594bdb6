import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../../../threads/workerUrl.ts';
import { checkpoint } from '../eventLogFile.ts';

/**
 * Number of events between two checkpoints, about 12 MB of write-ahead log: small enough that the disk and commits run smoothly.
 */
const EVENTS = 2_000;

/**
 * Has a separate thread copy the write-ahead log into the file while commits continue, so that no commit waits for it. Commits
 * add to the log meanwhile: the last bit, after which the log restarts, is copied here, between two commits.
 */
export class BackgroundCheckpoint {
  readonly #worker: Worker;
  #events = 0;
  #copying = false;

  /** `db`: the writer's connection to the file at `path`. */
  constructor(path: string, db: DatabaseSync) {
    this.#worker = new Worker(workerUrl('checkpointWorker', import.meta.url), { workerData: { path } });
    this.#worker.on('message', () => {
      checkpoint(db);
      this.#events = 0;
      this.#copying = false;
    });
  }

  /** Reports the number of events added to the log. */
  committed(events: number): void {
    this.#events += events;
    if (this.#events < EVENTS || this.#copying) return;
    this.#copying = true;
    this.#worker.postMessage('copy');
  }

  async close(): Promise<void> {
    this.#worker.postMessage('close');
    await once(this.#worker, 'exit');
  }
}
