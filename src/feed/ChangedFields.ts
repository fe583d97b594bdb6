import { LRUCache } from 'lru-cache';
import type { EventLog, RecordedEvent } from '../ports/eventLog.ts';
import type { RecordFields } from '../records/catalog.ts';
import { changedFields } from '../records/diff.ts';
import { mergeFields } from '../records/fold.ts';
import { upcast } from '../records/upcast.ts';
import { documentFields } from './cloudEvent.ts';

/** Characters of all states together: 32 MB of Latin letters, twice that of others. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** What a state costs beside its text. */
const STATE_CHARACTERS = 300;
const PAGE = 500;
/** Streams read at once. */
const READS_AT_ONCE = 32;

const noFields = {} as RecordFields;

/** A stream folded up to a revision. */
interface State {
  revision: number;
  /** The fields as JSON: a text is cheaper to keep than the object, and tells at a glance when nothing changed. */
  text: string;
}

/** What an event did. */
export interface Change {
  /** The fields that were sent, as JSON. */
  sent: string;
  /** Names of those whose value it changed. */
  changed: string[];
}

/**
 * Tells which fields events changed. The latest states are remembered, in bounded memory, so who goes through the log
 * in order causes no reads of streams.
 */
export class ChangedFields {
  readonly #eventLog: EventLog;
  readonly #states = new LRUCache<string, State>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ text }, stream) => STATE_CHARACTERS + stream.length + text.length,
  });

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** The names of the fields that each event changed, as `changes` gives them. */
  async of(events: RecordedEvent[]): Promise<string[][]> {
    return (await this.changes(events)).map(({ changed }) => changed);
  }

  /**
   * What each event did. They are of records and documents, and those of one stream follow upon each other. Rejects
   * with `unavailable`.
   */
  async changes(events: RecordedEvent[]): Promise<Change[]> {
    const states = await this.#statesBefore(events);
    const changes = events.map((event) => {
      const { state, change } = apply(states.get(event.stream), event);
      states.set(event.stream, state);
      return change;
    });
    for (const [stream, state] of states) {
      // One that is remembered already, and was only brought on, stays where it is.
      if (this.#states.peek(stream) !== state) this.#states.set(stream, state);
    }
    return changes;
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
    let state: State | undefined;
    for (let from = 0; from < revision; from += PAGE) {
      const limit = Math.min(PAGE, revision - from);
      for (const event of await this.#eventLog.readStream(stream, { from, limit })) {
        state = apply(state, event).state;
      }
    }
    return state as State;
  }
}

/** The state after an event; where the event changes no field, that is `before`, brought on. */
function apply(before: State | undefined, event: RecordedEvent): { state: State; change: Change } {
  const { revision, type } = event;
  const { data, dataText } = upcast(event);
  // An upload says all of a document; a removal leaves nothing but its ids.
  const isDocument = type.startsWith('Document');
  const sent = (isDocument ? documentFields(data) : data) as RecordFields;
  const text = isDocument || dataText === undefined ? JSON.stringify(sent) : dataText;
  // A field that is cleared reads `:null`; where that is a part of some text, it only takes longer.
  const clears = text.includes(':null');
  if (!clears && text === before?.text) {
    before.revision = revision;
    return { state: before, change: { sent: text, changed: [] } };
  }
  const fields: RecordFields | undefined = before && JSON.parse(before.text);
  const after =
    isDocument || (!clears && before === undefined) ? sent : mergeFields(fields ?? noFields, sent);
  return {
    state: { revision, text: after === sent ? text : JSON.stringify(after) },
    change: { sent: text, changed: changedFields(fields, after) },
  };
}
