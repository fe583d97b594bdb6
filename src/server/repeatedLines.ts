import type { DestinationStream } from 'pino';

const WINDOW_MS = 60_000;
/** Causes that are remembered; further ones are logged as they come. */
const MAX_CAUSES = 1_000;
/** Warnings and errors. */
const REPEATED_LEVEL = /^\{"level":[456]0,/;
/** What differs between lines with the same cause: which request it was. */
const INCIDENTAL = new Set([
  ...['time', 'requestId', 'clientRequestId', 'traceparent', 'method', 'route', 'ms', 'key', 'workspace'],
  'thread',
]);

/** A cause within its minute. */
interface Cause {
  timer: NodeJS.Timeout;
  omitted: number;
  /** The last line that was left out. */
  line: string;
}

/**
 * Passes log lines on, of warnings and errors with the same cause one a minute: a store that is away would otherwise fill the log
 * with a stack trace for each request. The next line with that cause, a minute later at the latest, has the number of those left
 * out in between (`omitted`).
 */
export class RepeatedLines implements DestinationStream {
  readonly #to: DestinationStream;
  readonly #causes = new Map<string, Cause>();

  constructor(to: DestinationStream) {
    this.#to = to;
  }

  write(line: string): void {
    const cause = REPEATED_LEVEL.test(line) ? causeOf(line) : undefined;
    const known = cause === undefined ? undefined : this.#causes.get(cause);
    if (known) {
      known.omitted += 1;
      known.line = line;
      return;
    }
    this.#to.write(line);
    if (cause !== undefined && this.#causes.size < MAX_CAUSES) this.#remember(cause);
  }

  /** Writes what was left out until now. */
  close(): void {
    for (const cause of this.#causes.values()) {
      clearTimeout(cause.timer);
      this.#writeOmitted(cause);
    }
    this.#causes.clear();
  }

  #remember(cause: string): void {
    const end = () => {
      this.#causes.delete(cause);
      if (this.#writeOmitted(known)) this.#remember(cause);
    };
    const known: Cause = { timer: setTimeout(end, WINDOW_MS).unref(), omitted: 0, line: '' };
    this.#causes.set(cause, known);
  }

  #writeOmitted({ omitted, line }: Cause): boolean {
    if (omitted === 0) return false;
    this.#to.write(`${line.trimEnd().slice(0, -1)},"omitted":${omitted}}\n`);
    return true;
  }
}

/** Returns what lines with the same cause have in common. */
function causeOf(line: string): string {
  return JSON.stringify(JSON.parse(line), (name, value) => {
    if (INCIDENTAL.has(name)) return undefined;
    // Where it was thrown is the cause; who had called differs.
    return name === 'stack' && Array.isArray(value) ? value[0] : value;
  });
}
