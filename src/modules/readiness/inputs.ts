import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import { RECORD_ERASED } from '../../domain/events/payloads.ts';
import { kindOfStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { rules } from './rules/index.ts';

/** The fields that rules read, by kind; of a nested one the field that holds it. */
const inputs = new Map(
  catalog.map(({ kind }) => {
    const paths = rules.flatMap(({ reads }) => reads).map((path) => path.split('.'));
    return [kind, new Set(paths.flatMap(([of, field]) => (of === kind && field ? [field] : [])))];
  }),
);

/** Whether a rule reads a field of a kind, or a part of it. */
export function isInput(kind: string, field: string): boolean {
  return inputs.get(kind)?.has(field) ?? false;
}

/** How many events before a change are searched for the values that it replaced: most senders send all fields each time. */
const LOOK_BACK = 8;

/** Records whose values are kept: those of them that many encounters depend on change again and again. */
const MOST_KEPT = 10_000;

/** What rules read of a record, as last sent, up to a revision. */
interface Sent {
  revision: number;
  values: JsonObject;
}

/** Tells which changes of records concern rules. What was sent before is kept from the events followed, or else read. */
export class RecordInputs {
  readonly #eventLog: EventLog;
  readonly #sent = new LRUCache<string, Sent>({ max: MOST_KEPT });

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Keeps what the first event of a record sends, and nothing of one that was erased. */
  follow(event: RecordedEvent): void {
    const { stream, revision } = event;
    if (event.type === RECORD_ERASED) this.#sent.delete(stream);
    if (revision > 0) return;
    try {
      this.#sent.set(stream, { revision, values: inputsOf(kindOfStream(stream), event) });
    } catch (error) {
      asUnreadable(error);
    }
  }

  /**
   * Whether consecutive events of a record may have changed a field that rules read. True also where the values before them are
   * not among the last events, and where the record was erased or cannot be read. Rejects with `unavailable`.
   */
  async changed(events: readonly RecordedEvent[]): Promise<boolean> {
    const found = await this.#findChange(events).catch(asUnreadable);
    return found instanceof UnreadableError || found;
  }

  async #findChange(events: readonly RecordedEvent[]): Promise<boolean> {
    const [{ stream, revision }] = events as [RecordedEvent];
    const kind = kindOfStream(stream);
    if (revision === 0 || !events.every((event) => isUpsert(kind, event))) return true;
    const sent = events.map((event) => inputsOf(kind, event));
    const wanted = new Set(sent.flatMap((fields) => Object.keys(fields)));
    const known = this.#sent.get(stream);
    const isKnown = known?.revision === revision - 1;
    const before = isKnown ? known.values : await this.#lastSent(kind, stream, revision, wanted);
    const values = Object.assign({ ...before }, ...sent);
    this.#sent.set(stream, { revision: revision + events.length - 1, values });
    return sent.some((fields) =>
      Object.entries(fields).some(
        ([field, value]) => !Object.hasOwn(before, field) || !isDeepStrictEqual(before[field], value),
      ),
    );
  }

  /** Resolves with the values of some fields before a revision, as far as they are among the last events. */
  async #lastSent(
    kind: string,
    stream: string,
    revision: number,
    wanted: ReadonlySet<string>,
  ): Promise<JsonObject> {
    const before: JsonObject = {};
    if (wanted.size === 0) return before;
    const range = { direction: 'backwards', from: revision - 1, limit: LOOK_BACK } as const;
    for (const event of await this.#eventLog.readStream(stream, range)) {
      if (Object.keys(before).length === wanted.size || !isUpsert(kind, event)) break;
      for (const [field, value] of Object.entries(inputsOf(kind, event))) {
        if (wanted.has(field) && !Object.hasOwn(before, field)) before[field] = value;
      }
    }
    return before;
  }
}

function isUpsert(kind: string, { type }: RecordedEvent): boolean {
  return type === catalogEntry(kind).eventType;
}

/** Returns what an event sends of what rules read. Throws an `UnreadableError`. */
function inputsOf(kind: string, event: RecordedEvent): JsonObject {
  return Object.fromEntries(Object.entries(upcast(event).data).filter(([field]) => isInput(kind, field)));
}
