import { dataAs, type ErasedEvent, type Position } from '../../domain/events/event.ts';
import { erasureStep, type ListedEvent, type RecordErased } from '../../domain/events/recordErased.ts';
import { UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

/** Streams whose tombstones are remembered: those erased together are close to each other in the log. */
const MAX_STREAMS = 64;

type Versions = ReadonlyMap<number, ListedEvent | undefined>;

/** What tombstones say about the events that they list. */
export class Tombstones {
  readonly #eventLog: Pick<EventLog, 'readStream'>;
  readonly #streams = new Map<string, Versions>();

  constructor(eventLog: Pick<EventLog, 'readStream'>) {
    this.#eventLog = eventLog;
  }

  /**
   * Resolves with what is said about each of these events, by position; with nothing for those whose tombstone is
   * from an earlier version of the service, or cannot be read. Rejects with `unavailable`.
   */
  async listed(events: readonly ErasedEvent[] = []): Promise<Map<Position, ListedEvent>> {
    const found = new Map<Position, ListedEvent>();
    for (const { stream, revision, position } of events) {
      const version = revision + 1;
      let versions = this.#streams.get(stream);
      // Remembered tombstones do not cover what was erased since.
      if (!versions?.has(version)) versions = await this.#read(stream);
      const listed = versions.get(version);
      if (listed) found.set(position, listed);
    }
    return found;
  }

  /** The tombstones at the beginning of a stream list everything that came before them. */
  async #read(stream: string): Promise<Versions> {
    const versions = new Map<number, ListedEvent | undefined>();
    for (const { erased, kind, record_id, document_id } of await this.#tombstones(stream)) {
      const subject = { kind, record_id, ...(document_id !== undefined && { document_id }) };
      for (const { version, written } of erased) versions.set(version, written && { ...subject, written });
    }
    if (this.#streams.size >= MAX_STREAMS) this.#streams.clear();
    this.#streams.set(stream, versions);
    return versions;
  }

  async #tombstones(stream: string): Promise<RecordErased[]> {
    try {
      const [first] = await this.#eventLog.readStream(stream, { limit: 1 });
      if (first === undefined || erasureStep(first) === undefined) return [];
      const { parts } = dataAs<RecordErased>(first.data);
      const options = { from: first.revision, limit: parts };
      // Where the listed ones were erased meanwhile, these are later tombstones, which list them.
      const all = parts === 1 ? [first] : await this.#eventLog.readStream(stream, options);
      return all.filter(erasureStep).map(({ data }) => dataAs<RecordErased>(data));
    } catch (error) {
      if (error instanceof UnreadableError) return [];
      throw error;
    }
  }
}
