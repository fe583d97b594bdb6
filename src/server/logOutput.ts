import { once } from 'node:events';
import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import sonicBoom from 'sonic-boom';

const BATCH_CHARACTERS = 16 * 1024;
const BATCH_MS = 100;
/** What is buffered for a reader that pauses: about 4,000 lines. */
const HELD_BYTES = 1024 * 1024;
const CLOSE_MS = 1_000;
const WARN = 40;

/**
 * The destination of log lines: a file descriptor, written in batches and never on the request path. Failures there cost lines
 * and nothing else: lines that do not fit are counted, and the count is logged as a line of its own once there is room again, in
 * place of the lost lines.
 */
export class LogOutput implements DestinationStream {
  readonly #fd: number;
  readonly #stream: sonicBoom.SonicBoom;
  readonly #timer: NodeJS.Timeout;
  #lines: string[] = [];
  #length = 0;
  #lost = 0;
  #refused = false;
  #idle = true;

  constructor(fd: number) {
    this.#fd = fd;
    // Lines are passed on in batches: the library measures its last piece again with every write.
    this.#stream = new sonicBoom.SonicBoom({ fd, sync: false, minLength: 1, maxLength: HELD_BYTES });
    this.#stream.on('drop', () => {
      this.#refused = true;
    });
    this.#stream.on('drain', () => {
      this.#idle = true;
    });
    // A full file system, or no reader: it keeps what it holds, and tries again with the next batch.
    this.#stream.on('error', () => undefined);
    this.#timer = setInterval(() => this.#passOn(), BATCH_MS).unref();
    process.on('exit', this.#writeLast);
  }

  /** Takes one or more lines; never throws and never waits. */
  write(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length > BATCH_CHARACTERS) this.#passOn();
  }

  /** Resolves when everything is written, or after a second at the latest; takes no more lines. */
  async close(): Promise<void> {
    this.#passOn();
    clearInterval(this.#timer);
    if (!this.#idle) {
      await once(this.#stream, 'drain', { signal: AbortSignal.timeout(CLOSE_MS) }).catch(() => undefined);
    }
    process.off('exit', this.#writeLast);
  }

  #passOn(): void {
    const lines = this.#lines;
    if (lines.length > 0 || this.#lost > 0) {
      const text = lossLine(this.#lost) + lines.join('');
      this.#lost = this.#accepts(text) ? 0 : this.#lost + lines.length;
      this.#lines = [];
      this.#length = 0;
    }
    if (!this.#idle) this.#stream.flush();
  }

  #accepts(text: string): boolean {
    this.#refused = false;
    this.#stream.write(text);
    if (this.#refused) return false;
    this.#idle = false;
    return true;
  }

  /** Writes the last batch of a process that ends without `close`. */
  readonly #writeLast = (): void => {
    try {
      writeSync(this.#fd, this.#lines.join(''));
    } catch {
      // There is nobody left to tell.
    }
  };
}

function lossLine(lost: number): string {
  if (lost === 0) return '';
  const msg = 'log lines were lost: the log output did not take them';
  return `${JSON.stringify({ level: WARN, time: Date.now(), lost, msg })}\n`;
}
