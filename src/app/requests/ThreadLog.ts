import type { DestinationStream } from 'pino';

const BATCH_LINES = 64;
const BATCH_MS = 100;

/** Where a thread's log lines go: to the first thread, many at a time. */
export class ThreadLog implements DestinationStream {
  readonly #send: (lines: string[]) => void;
  readonly #timer: NodeJS.Timeout;
  #lines: string[] = [];

  constructor(send: (lines: string[]) => void) {
    this.#send = send;
    this.#timer = setInterval(this.#passOn, BATCH_MS).unref();
    // What a thread that fails had to tell.
    process.on('exit', this.#passOn);
  }

  write(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length >= BATCH_LINES) this.#passOn();
  }

  close(): void {
    clearInterval(this.#timer);
    process.off('exit', this.#passOn);
    this.#passOn();
  }

  readonly #passOn = (): void => {
    if (this.#lines.length === 0) return;
    this.#send(this.#lines);
    this.#lines = [];
  };
}
