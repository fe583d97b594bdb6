import type { NewEvent, RecordedEvent } from '../../../domain/events/event.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { appendBehind } from '../../../storage/appendBehind.ts';
import type { Appended, EventLog, ExpectedRevision } from '../../../storage/eventLog.ts';

/** A write's condition on the current state: as `ExpectedRevision`, or `exists`: it must exist, in any version. */
export type WriteCondition = ExpectedRevision | 'exists';

/** The error for a write whose condition is not met; `version` is the current one, if any. */
export function conditionNotMet(what: 'record' | 'document', version?: number): ServiceError {
  const message =
    version === undefined ? `The ${what} does not exist.` : `The ${what} is at version ${version}.`;
  return new ServiceError('version_conflict', message, { ...(version !== undefined && { version }) });
}

/** Throws `version_conflict` unless a record meets the condition; `state` is undefined when there is none, or it was erased. */
export function requireRecord(condition: WriteCondition, state: RecordState | undefined): void {
  if (condition === 'any') return;
  const isMet =
    condition === 'none'
      ? state === undefined
      : state !== undefined && (condition === 'exists' || condition === state.version - 1);
  if (!isMet) throw conditionNotMet('record', state?.version);
}

/**
 * Throws `version_conflict` unless a document whose stream ends with `last` meets the condition; a removed document counts as
 * missing.
 */
export function requireDocument(condition: WriteCondition, last: RecordedEvent | undefined): void {
  if (condition === 'any') return;
  const version = last?.type === 'DocumentUploaded' ? last.revision + 1 : undefined;
  const isMet =
    condition === 'none'
      ? version === undefined
      : version !== undefined && (condition === 'exists' || condition === version - 1);
  if (!isMet) throw conditionNotMet('document', version);
}

/** Appends to a document's stream under a condition on the document. Rejects as `EventLog.append` does. */
export async function appendToDocument(
  eventLog: Pick<EventLog, 'append' | 'readStream'>,
  stream: string,
  event: NewEvent,
  condition: WriteCondition,
): Promise<Appended> {
  if (condition === 'any') return eventLog.append(stream, event, 'any');
  for (;;) {
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    requireDocument(condition, last);
    const appended = await appendBehind(eventLog, stream, event, last?.revision ?? -1);
    if (appended) return appended;
  }
}
