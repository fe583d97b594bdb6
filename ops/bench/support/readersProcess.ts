import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ReadersOrder, ReadersReply, ReadersRequest } from './eventReaders.ts';

/** A separate process that reads event streams. */
export class ReadersProcess {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(new URL('eventReaders.ts', import.meta.url), {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  /** Opens readers of what is appended from now on; resolves when all have responses. */
  async open(order: Omit<ReadersOrder, 'until'>): Promise<void> {
    await this.#ask(order);
  }

  /**
   * Resolves with the seconds in which one reader gets a number of events, and the processor time that it used
   * itself.
   */
  async read(order: ReadersOrder): Promise<{ seconds: number; clientCpuSeconds: number }> {
    const answer = await this.#ask(order);
    await this.close();
    if (answer.kind !== 'read') throw new Error('the reader did not get everything');
    return answer;
  }

  /** Waits until each reader was sent at least `closeAfter` events, then closes them. */
  async close(closeAfter = 0): Promise<void> {
    await this.#ask({ closeAfter });
  }

  stop(): void {
    this.#child.kill();
  }

  async #ask(request: ReadersRequest): Promise<ReadersReply> {
    const answered = new AbortController();
    const { signal } = answered;
    this.#child.send(request);
    const failed = once(this.#child, 'exit', { signal }).then(() => {
      throw new Error('the process of the readers ended');
    });
    const [answer] = (await Promise.race([once(this.#child, 'message', { signal }), failed])) as [
      ReadersReply,
    ];
    answered.abort();
    failed.catch(() => undefined);
    return answer;
  }
}
