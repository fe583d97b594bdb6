import { type DestinationStream, type Logger, pino } from 'pino';

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

/** Creates the service's log: JSON lines without PHI, callers' ids or messages of foreign errors. */
export function createLogger(level: string, to: DestinationStream): Logger {
  return pino({ level, base: null }, to);
}

/** Passes lines that a logger in another thread made on to where this one's go. */
export function writeLines(logger: Logger, lines: readonly string[]): void {
  const { [pino.symbols.streamSym]: to } = logger as unknown as Record<symbol, DestinationStream>;
  for (const line of lines) to?.write(line);
}
