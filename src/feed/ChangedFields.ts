import { LRUCache } from 'lru-cache';
import type { EventLog, RecordedEvent } from '../ports/eventLog.ts';
import type { RecordFields } from '../records/catalog.ts';
import { changedFields } from '../records/diff.ts';
import { mergeFields } from '../records/fold.ts';
import { upcast } from '../records/upcast.ts';
import { documentFields } from './cloudEvent.ts';

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_STREAMS = 100_000;
/** What a state costs beside its fields' values, and a value beside its characters. */
const STATE_BYTES = 200;
const VALUE_BYTES = 24;
const PAGE = 500;
/** Streams read at once. */
const READS_AT_ONCE = 32;

/** A stream folded up to a revision. */
interface State {
  revision: number;
  fields: RecordFields;
}

/**
 * Tells which fields events changed. The latest states are remembered, in bounded memory, so who goes through the log
 * in order causes no reads of streams.
 */
export class ChangedFields {
  readonly #eventLog: EventLog;
  readonly #states = new LRUCache<string, State>({
    max: MAX_STREAMS,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ fields }, stream) => STATE_BYTES + stream.length + bytesOf(fields),
  });

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /**
   * For each event the names of the fields that it changed; events of one stream follow upon each other. Rejects with
   * `unavailable`.
   */
  async of(events: RecordedEvent[]): Promise<string[][]> {
    const states = await this.#statesBefore(events);
    const changed = events.map((event) => {
      const before = states.get(event.stream);
      const fields = fieldsAfter(before?.fields, event);
      states.set(event.stream, { revision: event.revision, fields });
      return changedFields(before?.fields, fields);
    });
    for (const [stream, state] of states) this.#states.set(stream, state);
    return changed;
  }

  /** The states of the streams before the first event of each. */
  async #statesBefore(events: RecordedEvent[]): Promise<Map<string, State>> {
    const states = new Map<string, State>();
    const missing: { stream: string; revision: number }[] = [];
    const seen = new Set<string>();
    for (const { stream, revision } of events) {
      if (seen.has(stream)) continue;
      seen.add(stream);
      if (revision === 0) continue;
      const known = this.#states.get(stream);
      if (known?.revision === revision - 1) states.set(stream, known);
      else missing.push({ stream, revision });
    }
    for (let from = 0; from < missing.length; from += READS_AT_ONCE) {
      const reading = missing.slice(from, from + READS_AT_ONCE).map(async ({ stream, revision }) => {
        states.set(stream, await this.#foldBelow(stream, revision));
      });
      await Promise.all(reading);
    }
    return states;
  }

  async #foldBelow(stream: string, revision: number): Promise<State> {
    let fields: RecordFields | undefined;
    for (let from = 0; from < revision; from += PAGE) {
      const limit = Math.min(PAGE, revision - from);
      for (const event of await this.#eventLog.readStream(stream, { from, limit })) {
        fields = fieldsAfter(fields, event);
      }
    }
    return { revision: revision - 1, fields: fields as RecordFields };
  }
}

const isDocument = ({ type }: RecordedEvent) => type.startsWith('Document');

function fieldsAfter(before: RecordFields | undefined, event: RecordedEvent): RecordFields {
  const { data } = upcast(event);
  // An upload says all of a document; a removal leaves nothing but its ids.
  if (isDocument(event)) return documentFields(data) as RecordFields;
  return mergeFields(before ?? ({} as RecordFields), data as RecordFields);
}

function bytesOf(fields: object): number {
  let bytes = 0;
  for (const value of Object.values(fields)) {
    bytes += VALUE_BYTES;
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value === 'object' && value !== null) bytes += bytesOf(value);
  }
  return bytes;
}
