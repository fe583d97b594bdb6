import { canonicalJson } from '../../../src/domain/events/canonicalJson.ts';
import type { JsonObject, RecordedEvent } from '../../../src/domain/events/event.ts';

/** A write that was sent, until it is answered. */
export interface Attempt {
  stream: string;
  /** What the event must contain, or the digest of a document's bytes. */
  content: string;
  /** Place among the attempts on the stream, in the order in which they were sent one after the other. */
  place: number;
  /** From the 200 response. */
  version?: number;
}

type ByContent = Map<string, Attempt>;

/** What the log contains of what was sent. */
export interface Findings {
  attempted: number;
  acknowledged: number;
  /** Of the attempts without a 200, those that were written anyway. */
  writtenUnanswered: number;
  failures: string[];
}

/** Returns the content of a record's event. */
export function contentOf(data: JsonObject): string {
  return canonicalJson(data);
}

function contentOfEvent({ type, data }: RecordedEvent): string {
  return type === 'DocumentUploaded' ? String(data.sha256) : contentOf(data);
}

/**
 * Keeps what was sent and what was acknowledged, and compares it with the log. No two attempts on a stream have the
 * same content, and each writer to a stream sends one write after the other.
 */
export class Ledger {
  readonly #streams = new Map<string, ByContent>();

  /** Notes a write before it is sent. */
  attempt(stream: string, content: string): Attempt {
    const attempts: ByContent = this.#streams.get(stream) ?? new Map();
    this.#streams.set(stream, attempts);
    if (attempts.has(content)) throw new Error(`${stream} is sent the same content twice`);
    const attempt = { stream, content, place: attempts.size };
    attempts.set(content, attempt);
    return attempt;
  }

  /** Yields streams, each with the last acknowledged attempt on it, if there was one. */
  *latest(): Iterable<[stream: string, latest: Attempt | undefined]> {
    for (const [stream, attempts] of this.#streams) {
      yield [stream, [...attempts.values()].findLast(({ version }) => version !== undefined)];
    }
  }

  /** Compares all attempts with the events of the log; events of other streams are ignored. */
  check(events: readonly RecordedEvent[]): Findings {
    const failures: string[] = [];
    const found = new Set<Attempt>();
    const last = new Map<string, number>();
    for (const event of events) {
      const attempts = this.#streams.get(event.stream);
      if (attempts === undefined) continue;
      const where = `${event.stream} version ${event.revision + 1}`;
      const attempt = attempts.get(contentOfEvent(event));
      if (attempt === undefined) {
        failures.push(`nobody sent what ${where} holds`);
        continue;
      }
      if (found.has(attempt)) failures.push(`doubled: ${where} holds what an earlier version does`);
      else if (attempt.place < (last.get(event.stream) ?? -1)) failures.push(`out of order: ${where}`);
      if (attempt.version !== undefined && attempt.version !== event.revision + 1 && !found.has(attempt))
        failures.push(`${where} was acknowledged as version ${attempt.version}`);
      found.add(attempt);
      last.set(event.stream, attempt.place);
    }
    const all = [...this.#streams.values()].flatMap((attempts) => [...attempts.values()]);
    const acknowledged = all.filter(({ version }) => version !== undefined);
    for (const attempt of acknowledged) {
      if (!found.has(attempt)) failures.push(`lost: ${attempt.stream} version ${attempt.version}`);
    }
    return {
      attempted: all.length,
      acknowledged: acknowledged.length,
      writtenUnanswered: [...found].filter(({ version }) => version === undefined).length,
      failures,
    };
  }
}
