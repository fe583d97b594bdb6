import type { MessageBody } from '../messages/message.ts';
import type { OperationResult } from './carryOut.ts';
import type { Operation } from './operation.ts';

/** What a message tells of a record, and what became of that. */
export type About = MessageBody['about'][number];
/** A record of which a message tells. */
export type AboutRecord = Pick<About, 'kind' | 'id'>;

/** The record of an operation; of a document, its encounter. */
export function recordOf(operation: Operation): AboutRecord {
  if (operation.type === 'merge') return { kind: 'patient', id: operation.id };
  return operation.type === 'document'
    ? { kind: 'encounter', id: operation.encounterId }
    : { kind: operation.kind, id: operation.fields.id };
}

/** Each record once, with what is told of it last. */
export function eachOnce<Told extends AboutRecord>(told: readonly Told[]): Told[] {
  return [...new Map(told.map((one) => [JSON.stringify([one.kind, one.id]), one])).values()];
}

/** What became of what a message says of a record: refused, where nothing came of it. */
export function becameOf(record: AboutRecord, result: OperationResult | undefined): About {
  const { kind, id } = record;
  if (result === undefined || 'error' in result) return { kind, id, outcome: 'refused' };
  return { kind, id, outcome: result.outcome, ...('version' in result && { version: result.version }) };
}
