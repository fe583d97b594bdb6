import type { WriterLink } from '../../eventLog.ts';
import { WriterConnection, type WriterSource } from './WriterConnection.ts';
import { WriterThread } from './WriterThread.ts';

/** A writer that the calling thread starts when it is first needed, and again after it has ended. */
export class OwnWriter implements WriterSource {
  readonly #path: string;
  #opening: Promise<WriterThread> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async connect(): Promise<WriterConnection> {
    const thread = await this.#thread();
    return new WriterConnection(thread.link(), thread);
  }

  async link(): Promise<WriterLink> {
    return (await this.#thread()).link();
  }

  async close(): Promise<void> {
    const thread = await this.#opening?.catch(() => undefined);
    await thread?.close();
  }

  async #thread(): Promise<WriterThread> {
    this.#opening ??= WriterThread.open(this.#path);
    const opening = this.#opening;
    const thread = await opening.catch(() => undefined);
    if (thread?.ended === false) return thread;
    if (this.#opening === opening) this.#opening = undefined;
    return thread ? this.#thread() : opening;
  }
}
