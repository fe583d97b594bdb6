import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../../../threads/workerUrl.ts';
import { checkpoint } from '../eventLogFile.ts';

/** Events between two checkpoints, some 12 MB of write-ahead log: little enough that disk and commits go on smoothly. */
const EVENTS = 2_000;

/**
 * Has a thread of its own copy the write-ahead log into the file while commits go on, so that no commit waits for it.
 * Commits add to the log meanwhile: the last bit, after which the log begins anew, is copied here, between two commits.
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

  /** Tells of so many more events in the log. */
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
