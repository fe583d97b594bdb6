import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordedNoEarlier } from '../../events/recordedNoEarlier.ts';
import type { Appended } from '../../ports/eventLog.ts';
import type { LogReader } from './LogReader.ts';

/** Minimum and maximum number of events of a stream to search. */
const LEAST_EVENTS = 32;
const MOST_EVENTS = 1_000;

interface Look {
  ids: Set<string>;
  found: Promise<Map<string, Appended>>;
}

/**
 * Searches for events at the ends of streams. A stream is read once at a time: those who search it meanwhile share the next read.
 * Otherwise many appends to one stream that are answered late would keep the server busy with reads of it, and be answered later still.
 */
export class StreamEnds {
  readonly #reader: Pick<LogReader, 'lookBack'>;
  /** By stream: what is being read, and what is to be read after it. */
  readonly #reading = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Look>();

  constructor(reader: Pick<LogReader, 'lookBack'>) {
    this.#reader = reader;
  }

  /**
   * Returns the place of an event among the newest of a stream: at most 1,000, and only those that may be newer than the id.
   * Rejects with `unavailable`.
   */
  async find(stream: string, id: string): Promise<Appended | undefined> {
    let look = this.#next.get(stream);
    if (look === undefined) {
      const ids = new Set<string>();
      look = { ids, found: this.#look(stream, ids) };
      this.#next.set(stream, look);
    }
    look.ids.add(id);
    return (await look.found).get(id);
  }

  async #look(stream: string, ids: Set<string>): Promise<Map<string, Appended>> {
    await (this.#reading.get(stream) ?? nextTurn());
    this.#next.delete(stream);
    const found = this.#read(stream, ids);
    const over = found.then(
      () => undefined,
      () => undefined,
    );
    this.#reading.set(stream, over);
    try {
      return await found;
    } finally {
      if (this.#reading.get(stream) === over) this.#reading.delete(stream);
    }
  }

  async #read(stream: string, ids: ReadonlySet<string>): Promise<Map<string, Appended>> {
    const found = new Map<string, Appended>();
    const oldest = Math.min(...Array.from(ids, recordedNoEarlier));
    await this.#reader.lookBack(stream, MOST_EVENTS, ({ id, revision, position, recordedAt }, seen) => {
      if (ids.has(id)) found.set(id, { revision, position });
      return found.size < ids.size && (seen < LEAST_EVENTS || Date.parse(recordedAt) >= oldest);
    });
    return found;
  }
}
