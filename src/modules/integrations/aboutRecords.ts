import type { OperationResult } from './carryOut.ts';
import type { MessageBody } from './messages/message.ts';
import type { Operation } from './operation.ts';

/** A record that a message concerns, and the result for it. */
export type About = MessageBody['about'][number];
/** A record that a message concerns. */
export type AboutRecord = Pick<About, 'kind' | 'id'>;

/** Returns the record of an operation; for a document, its encounter. */
export function recordOf(operation: Operation): AboutRecord {
  if (operation.type === 'merge') return { kind: 'patient', id: operation.id };
  return operation.type === 'document'
    ? { kind: 'encounter', id: operation.encounterId }
    : { kind: operation.kind, id: operation.fields.id };
}

/** Returns each record once, with what is said about it last. */
export function eachOnce<Told extends AboutRecord>(told: readonly Told[]): Told[] {
  return [...new Map(told.map((one) => [JSON.stringify([one.kind, one.id]), one])).values()];
}

/** Returns the result of what a message says about a record: refused, where it had no result. */
export function becameOf(record: AboutRecord, result: OperationResult | undefined): About {
  const { kind, id } = record;
  if (result === undefined || 'error' in result) return { kind, id, outcome: 'refused' };
  return { kind, id, outcome: result.outcome, ...('version' in result && { version: result.version }) };
}

/** Returns the result of an operation for its record; none for a document, whose versions are not its encounter's. */
export function becameOfOperation(operation: Operation, result: OperationResult | undefined): About[] {
  return operation.type === 'document' ? [] : [becameOf(recordOf(operation), result)];
}
