import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordedNoEarlier } from '../../../domain/events/recordedNoEarlier.ts';
import type { Appended } from '../../eventLog.ts';
import type { LogReader } from './LogReader.ts';

/** Minimum and maximum number of events of a stream to search. */
const LEAST_EVENTS = 32;
const MOST_EVENTS = 1_000;

/** What a search of a stream's end saw. */
export interface StreamEnd {
  /** The place of the event that was searched for. */
  found: Appended | undefined;
  /**
   * Revision of the last event up to which the server shows the stream without a gap; -1 for none. The stream may have more, which
   * a leader that has just begun does not show yet.
   */
  last: number;
  /** Whether the search came to a place before which events were removed. */
  isTruncated: boolean;
}

/** The same for several events. */
type Seen = Omit<StreamEnd, 'found'> & { found: Map<string, Appended> };

interface Look {
  ids: Set<string>;
  seen: Promise<Seen>;
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
   * Searches for an event among the newest of a stream: at most 1,000, and only those that may be newer than the id. Rejects with
   * `unavailable`.
   */
  async find(stream: string, id: string): Promise<StreamEnd> {
    let look = this.#next.get(stream);
    if (look === undefined) {
      const ids = new Set<string>();
      look = { ids, seen: this.#look(stream, ids) };
      this.#next.set(stream, look);
    }
    look.ids.add(id);
    const { found, ...end } = await look.seen;
    return { ...end, found: found.get(id) };
  }

  async #look(stream: string, ids: Set<string>): Promise<Seen> {
    await (this.#reading.get(stream) ?? nextTurn());
    this.#next.delete(stream);
    const seen = this.#read(stream, ids);
    const over = seen.then(
      () => undefined,
      () => undefined,
    );
    this.#reading.set(stream, over);
    try {
      return await seen;
    } finally {
      if (this.#reading.get(stream) === over) this.#reading.delete(stream);
    }
  }

  async #read(stream: string, ids: ReadonlySet<string>): Promise<Seen> {
    const found = new Map<string, Appended>();
    const oldestWanted = Math.min(...Array.from(ids, recordedNoEarlier));
    let last = -1;
    let oldest = 0;
    let isTruncated = false;
    await this.#reader.lookBack(stream, MOST_EVENTS, ({ id, revision, position, recordedAt }, seen) => {
      if (seen === 1 || revision !== oldest - 1) last = revision;
      oldest = revision;
      if (ids.has(id)) found.set(id, { revision, position });
      const goesOn = found.size < ids.size && (seen < LEAST_EVENTS || Date.parse(recordedAt) >= oldestWanted);
      isTruncated = goesOn && seen < MOST_EVENTS && revision > 0;
      return goesOn;
    });
    return { found, last, isTruncated };
  }
}
