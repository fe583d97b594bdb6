import type { FieldMessage } from '../errors.ts';
import { type Caller, newEvent } from '../events/newEvent.ts';
import { recordStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { CatalogEntry, RecordFields } from '../records/catalog.ts';
import { qualityWarnings } from '../records/qualityWarnings.ts';
import { validate } from '../records/validate.ts';
import { appendToRecord } from './appendToRecord.ts';
import { checkReferences } from './checkReferences.ts';
import type { RecordExistence } from './RecordExistence.ts';
import type { WriteCondition } from './writeCondition.ts';

export interface Upserted {
  version: number;
  outcome: 'created' | 'updated';
  warnings: FieldMessage[];
}

export interface UpsertPorts {
  eventLog: EventLog;
  existence: RecordExistence;
}

/**
 * Validates `input`, checks what it refers to, and appends one event that holds the fields as sent. Durable when it
 * resolves. Rejects with `validation_failed`, `reference_not_found`, `version_conflict` or `unavailable`; nothing was
 * appended then (with `unavailable` that is not certain, and sending the record again is safe).
 */
export async function upsertRecord(
  { eventLog, existence }: UpsertPorts,
  caller: Caller,
  entry: CatalogEntry,
  input: unknown,
  condition: WriteCondition,
): Promise<Upserted> {
  const sent = validate(entry.schema, input) as RecordFields;
  const checking = checkReferences(existence, caller.workspace, entry, sent);
  if (checking) await checking;
  const stream = recordStream(caller.workspace, entry.kind, sent.id);
  const event = newEvent(caller, entry.eventType, sent);
  const { revision, isNew } = await appendToRecord({ eventLog, existence }, stream, event, condition);
  if (!existence.isKnown(stream)) existence.remember(stream);
  return {
    version: revision + 1,
    outcome: isNew ? 'created' : 'updated',
    warnings: qualityWarnings(entry, input as object, sent),
  };
}
