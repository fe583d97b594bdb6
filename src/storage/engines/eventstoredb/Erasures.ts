import type { ErasedEvent, RecordedEvent } from '../../../domain/events/event.ts';
import { erasureStep, type RecordErased } from '../../../domain/events/recordErased.ts';
import { ERASURES_STREAM, type Erasure, toErasure } from './erasureNote.ts';
import type { LogReader } from './LogReader.ts';
import { toRecordedEvent } from './recordedEvent.ts';

const PAGE = 1_000;

/**
 * What was removed from which streams. The server delivers such events with the whole log until they are scavenged; readers use
 * this to drop them. It knows everything that it has read or was told.
 */
export class Erasures {
  readonly #reader: LogReader;
  readonly #before = new Map<string, number>();
  readonly #notes: Erasure[] = [];
  /** Revision of the first unread note. */
  #next = 0;
  #reading: Promise<unknown> = Promise.resolve();
  #asked: Promise<void> | undefined;

  constructor(reader: LogReader) {
    this.#reader = reader;
  }

  /** All notes, in the order in which they became known; a stream's later note covers its earlier ones. */
  get notes(): readonly Erasure[] {
    return this.#notes;
  }

  /** Returns the revision before which a stream's events were removed; 0 when none were. */
  before(stream: string): number {
    return this.#before.get(stream) ?? 0;
  }

  /** Whether an event was removed. */
  has({ stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): boolean {
    return this.#before.size > 0 && revision < this.before(stream);
  }

  add(erasure: Erasure): void {
    if (erasure.before <= this.before(erasure.stream)) return;
    this.#before.set(erasure.stream, erasure.before);
    this.#notes.push(erasure);
  }

  /** Returns the events that a removal took from a stream, as the tombstones behind it list them. Rejects with `unavailable`. */
  async eventsOf({ stream, before }: Pick<Erasure, 'stream' | 'before'>): Promise<ErasedEvent[]> {
    const [first] = await this.#reader.readStream(stream, { from: before, limit: 1 }, toRecordedEvent);
    const { parts = 1 } = (first?.data ?? {}) as Partial<RecordErased>;
    const options = { from: (first?.revision ?? before) + 1, limit: parts - 1 };
    const others = parts > 1 ? await this.#reader.readStream(stream, options, toRecordedEvent) : [];
    return [first, ...others].flatMap((event) => (event && erasureStep(event) ? listed(event, before) : []));
  }

  /** Reads the notes written until now. Concurrent calls share one read. Rejects with `unavailable`. */
  refresh(): Promise<void> {
    this.#asked ??= this.#reading.then(() => {
      this.#asked = undefined;
      const reading = this.#readOn();
      this.#reading = reading.catch(() => undefined);
      return reading;
    });
    return this.#asked;
  }

  async #readOn(): Promise<void> {
    for (let full = true; full; ) {
      const options = { from: this.#next, limit: PAGE };
      const events = await this.#reader.readStream(ERASURES_STREAM, options, toRecordedEvent);
      for (const { data, revision } of events) {
        const erasure = toErasure(data);
        if (erasure) this.add(erasure);
        this.#next = revision + 1;
      }
      full = events.length === PAGE;
    }
  }
}

function listed({ stream, data }: RecordedEvent, before: number): ErasedEvent[] {
  const { erased = [] } = data as Partial<RecordErased>;
  return erased
    .filter(({ version }) => version <= before)
    .map(({ version, position, event_id: id, leaf }) => ({
      id,
      stream,
      revision: version - 1,
      position,
      leaf,
    }));
}
