import type { RecordFields } from '../../../domain/records/catalog.ts';
import { mergeFields } from '../../../domain/records/fold.ts';
import type { FhirRecords } from '../fhir/FhirRecords.ts';
import type { RecordOperation } from '../operation.ts';
import type { OtherWrite, OtherWrites } from './OtherWrites.ts';

const noFields = {} as RecordFields;

/** A record as a mapping creates it from messages, interleaved with what others wrote. */
export interface MappedRecord {
  kind: string;
  id: string;
  /** Undefined where there is none. */
  fields: RecordFields | undefined;
  /** What messages, and nobody else, say about it: `null` where they clear a field. */
  told: RecordFields;
  /** The messages that concern it, oldest first. */
  messages: string[];
}

interface Underway extends MappedRecord {
  /** Of the writes of others: those that come later. */
  later: OtherWrite[];
}

/**
 * The records of a workspace as one mapping creates them: what messages say, and what others wrote, in the order of
 * their times.
 */
export class MappedRecords implements FhirRecords {
  readonly havingNumber: FhirRecords['havingNumber'];
  readonly #others: OtherWrites;
  readonly #records = new Map<string, Promise<Underway>>();
  #message = { id: '', at: '' };

  constructor(others: OtherWrites, havingNumber: FhirRecords['havingNumber']) {
    this.#others = others;
    this.havingNumber = havingNumber;
  }

  /** Begins a message, with the time at which it arrived. */
  begin(id: string, at: string): void {
    this.#message = { id, at };
  }

  async current(kind: string, id: string): Promise<{ version: number; fields: RecordFields } | undefined> {
    const { fields } = await this.#upTo(kind, id, this.#message.at);
    return fields && { version: 1, fields };
  }

  /** Writes what the message says about a record. */
  async write({ kind, fields, ifAbsent }: RecordOperation): Promise<void> {
    const record = await this.#upTo(kind, fields.id, this.#message.at);
    // What is mentioned in passing gives way to what others wrote, even later.
    if (ifAbsent && (record.fields !== undefined || record.later.length > 0)) return;
    record.fields = mergeFields(record.fields ?? noFields, fields);
    record.told = { ...record.told, ...fields };
    record.messages.push(this.#message.id);
  }

  /** Resolves with the kinds and ids of the records that messages concern. */
  async told(): Promise<{ kind: string; id: string }[]> {
    const all = await Promise.all(this.#records.values());
    return all.filter(({ messages }) => messages.length > 0).map(({ kind, id }) => ({ kind, id }));
  }

  /** Resolves with a record after all messages, and all that others wrote. */
  ended(kind: string, id: string): Promise<MappedRecord> {
    return this.#upTo(kind, id, undefined);
  }

  async #upTo(kind: string, id: string, at: string | undefined): Promise<Underway> {
    const name = JSON.stringify([kind, id]);
    const loading = this.#records.get(name) ?? this.#load(kind, id);
    this.#records.set(name, loading);
    const record = await loading;
    for (let [next] = record.later; next && (at === undefined || next.at <= at); [next] = record.later) {
      record.fields = next.fields && mergeFields(record.fields ?? noFields, next.fields);
      record.later.shift();
    }
    return record;
  }

  async #load(kind: string, id: string): Promise<Underway> {
    const { others } = await this.#others.of(kind, id);
    return { kind, id, fields: undefined, told: noFields, messages: [], later: [...others] };
  }
}
