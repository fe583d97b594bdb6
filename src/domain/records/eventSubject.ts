import { encounterReadinessTypes } from '../events/encounterReadiness.ts';
import type { RecordedEvent } from '../events/event.ts';
import { erasureStep, READINESS_ERASED, RECORD_ERASED } from '../events/recordErased.ts';
import { kindOfStream } from '../events/streamNames.ts';
import { catalog } from './catalog.ts';
import { documentEventTypes } from './document.ts';

/** The kinds of subject that events have and exports can be limited to: those of records, and `document`. */
export const subjectKinds: readonly string[] = [...catalog.map(({ kind }) => kind), 'document'];

/**
 * What an event is about; for an `AccessRecorded`, what was read; for a legal hold, the record that is held; for the
 * outcome of an encounter in billing, the encounter. Empty for events of keys and workspaces.
 */
export interface EventSubject {
  kind?: string | undefined;
  /** For a document, the id of its encounter. */
  recordId?: string | undefined;
  documentId?: string | undefined;
}

const kindByEventType = new Map<string, string>([
  ...catalog.map(({ eventType, kind }) => [eventType, kind] as const),
  ...documentEventTypes.map((type) => [type, 'document'] as const),
]);

/** Returns the kind of record or document that an event changed; undefined when it changed none. */
export function changedKind({ type, stream }: Pick<RecordedEvent, 'type' | 'stream'>): string | undefined {
  return type === RECORD_ERASED ? kindOfStream(stream) : kindByEventType.get(type);
}

/**
 * Returns the types of the events that change records of a kind, or documents; for `readiness`, those of the outcomes
 * of encounters in billing.
 */
export function eventTypesOf(kind: string): string[] {
  if (kind === 'readiness') return [...encounterReadinessTypes, READINESS_ERASED];
  const types = [...kindByEventType].filter(([, one]) => one === kind).map(([type]) => type);
  return kind === 'document' ? types : [...types, RECORD_ERASED];
}

/** Types of the events of legal holds; those of a hold on a workspace are not about any record. */
const holdTypes = ['HoldAdded', 'HoldReleased'];

export function eventSubject(event: RecordedEvent): EventSubject {
  const { type, data } = event;
  const text = (name: string) => data[name] as string | undefined;
  if (type === READINESS_ERASED) return { kind: 'encounter', recordId: text('record_id') };
  if (encounterReadinessTypes.includes(type)) return { kind: 'encounter', recordId: text('encounter_id') };
  const kind = changedKind(event);
  if (erasureStep(event)) return { kind, recordId: text('record_id'), documentId: text('document_id') };
  if (kind === 'document') return { kind, recordId: text('encounter_id'), documentId: text('document_id') };
  if (kind) return { kind, recordId: text('id') };
  if (type !== 'AccessRecorded' && !holdTypes.includes(type)) return {};
  return {
    kind: text('kind'),
    recordId: text('record_id'),
    documentId: text('document_id'),
  };
}
