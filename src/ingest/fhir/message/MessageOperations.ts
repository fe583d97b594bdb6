import type { Operation, RecordOperation } from '../../operation.ts';

/** What a message comes to, in its order, with a way to the last one of a record. */
export class MessageOperations {
  readonly all: Operation[] = [];
  readonly #byRecord = new Map<string, RecordOperation>();

  add(operation: Operation): void {
    this.all.push(operation);
    if (operation.type !== 'record') return;
    this.#byRecord.set(nameOf(operation.kind, String(operation.fields.id)), operation);
  }

  /** A record that is named in passing, which is made once. */
  addMade(record: RecordOperation): void {
    if (this.lastOf(record.kind, String(record.fields.id)) === undefined) this.add(record);
  }

  /** What is written last of a record. */
  lastOf(kind: string, id: string): RecordOperation | undefined {
    return this.#byRecord.get(nameOf(kind, id));
  }
}

function nameOf(kind: string, id: string): string {
  return `${kind} ${id}`;
}
