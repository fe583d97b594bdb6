import type { DestinationStream } from 'pino';

const BATCH_LINES = 64;
const BATCH_MS = 100;

/** The destination of a thread's log lines: the first thread, in batches. */
export class ThreadLog implements DestinationStream {
  readonly #send: (lines: string[]) => void;
  readonly #timer: NodeJS.Timeout;
  #lines: string[] = [];

  constructor(send: (lines: string[]) => void) {
    this.#send = send;
    this.#timer = setInterval(this.#passOn, BATCH_MS).unref();
    // Passes on what a failing thread had to report.
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
