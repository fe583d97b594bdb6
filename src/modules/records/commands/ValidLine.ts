import type { NewEvent } from '../../../domain/events/event.ts';
import { newEvent } from '../../../domain/events/newEvent.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import type { RecordFields } from '../../../domain/records/catalog.ts';
import { validate } from '../../../domain/records/schema/validate.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import type { BatchContext } from './batchContext.ts';
import type { BatchLine, LineSubject } from './batchLine.ts';
import { type Reference, referencesOf } from './checkReferences.ts';
import { type Operation, readOperation } from './readOperation.ts';
import type { ValidUpsert } from './upsertRecord.ts';

/** A line that is valid by itself. */
export class ValidLine implements ValidUpsert {
  readonly line: BatchLine;
  readonly operation: Operation;
  readonly sent: RecordFields;
  readonly stream: string;
  readonly #context: BatchContext;

  /** Parses what a line says. Throws `validation_failed`, `permission_denied`. */
  constructor(context: BatchContext, line: BatchLine, value: unknown) {
    this.line = line;
    this.operation = readOperation(value, line.seemingKind);
    context.authorize(this.entry.kind);
    this.sent = validate(this.entry.schema, this.operation.input) as RecordFields;
    this.stream = recordStream(context.caller.workspace, this.entry.kind, this.sent.id);
    this.#context = context;
  }

  get entry(): Operation['entry'] {
    return this.operation.entry;
  }

  get subject(): LineSubject {
    return { kind: this.entry.kind, id: this.sent.id };
  }

  get references(): Reference[] {
    return referencesOf(this.#context.caller.workspace, this.entry, this.sent);
  }

  warnings(record: RecordFields | undefined): FieldMessage[] {
    const { caller, ports } = this.#context;
    return ports.warnings(caller.workspace, this.entry, this.operation.input, this.sent, record);
  }

  newEvent(fields: RecordFields): NewEvent {
    const event = newEvent(this.#context.caller, this.entry.eventType, fields);
    event.id = this.#context.eventId(this.line);
    if (this.#context.isRepeat) event.isRepeat = true;
    return event;
  }
}
