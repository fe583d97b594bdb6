import type { RecordedEvent } from '../events/event.ts';
import { catalog } from './catalog.ts';
import { documentEventTypes } from './document.ts';

/** Kinds of what events are about, and exports can be limited to: those of records, and `document`. */
export const subjectKinds: readonly string[] = [...catalog.map(({ kind }) => kind), 'document'];

/** What an event is about; of an `AccessRecorded`, what was read. Empty for events of keys and workspaces. */
export interface EventSubject {
  kind?: string | undefined;
  /** Of a document, the id of its encounter. */
  recordId?: string | undefined;
  documentId?: string | undefined;
}

const kindByEventType = new Map<string, string>([
  ...catalog.map(({ eventType, kind }) => [eventType, kind] as const),
  ...documentEventTypes.map((type) => [type, 'document'] as const),
]);

/** The kind of record or document that an event changed; undefined when it changed none. */
export function changedKind({ type }: Pick<RecordedEvent, 'type'>): string | undefined {
  return kindByEventType.get(type);
}

/** The types of the events that change records of a kind, or documents. */
export function eventTypesOf(kind: string): string[] {
  return [...kindByEventType].filter(([, one]) => one === kind).map(([type]) => type);
}

export function eventSubject({ type, data }: RecordedEvent): EventSubject {
  const text = (name: string) => data[name] as string | undefined;
  const kind = changedKind({ type });
  if (kind === 'document') return { kind, recordId: text('encounter_id'), documentId: text('document_id') };
  if (kind) return { kind, recordId: text('id') };
  if (type !== 'AccessRecorded') return {};
  return {
    kind: text('kind'),
    recordId: text('record_id'),
    documentId: text('document_id'),
  };
}
