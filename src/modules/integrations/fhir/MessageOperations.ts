import type { Operation, RecordOperation } from '../operation.ts';

/** The operations of a message, in order, with access to the last one for a record. */
export class MessageOperations {
  readonly all: Operation[] = [];
  readonly #byRecord = new Map<string, RecordOperation>();

  add(operation: Operation): void {
    this.all.push(operation);
    if (operation.type !== 'record') return;
    this.#byRecord.set(nameOf(operation.kind, String(operation.fields.id)), operation);
  }

  /** Adds a record mentioned in passing, which is created once. */
  addMade(record: RecordOperation): void {
    if (this.lastOf(record.kind, String(record.fields.id)) === undefined) this.add(record);
  }

  /** Returns the last write to a record. */
  lastOf(kind: string, id: string): RecordOperation | undefined {
    return this.#byRecord.get(nameOf(kind, id));
  }
}

function nameOf(kind: string, id: string): string {
  return `${kind} ${id}`;
}
