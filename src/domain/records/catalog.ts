import type { RecordedEvent } from '../events/event.ts';
import {
  DISCLOSURES_ERASED,
  disclosureTypes,
  erasureStep,
  READINESS_ERASED,
  RECORD_ERASED,
} from '../events/payloads.ts';
import { encounterReadinessTypes } from '../events/readinessEvents.ts';
import { kindOfStream } from '../events/streams.ts';
import { addEventType } from '../events/upcasting.ts';
import { documentEventTypes } from './document.ts';
import { encounter } from './kinds/encounter.ts';
import { facility } from './kinds/facility.ts';
import { patient } from './kinds/patient.ts';
import { payer } from './kinds/payer.ts';
import { provider } from './kinds/provider.ts';
import { type CatalogEntry, type RecordFields, registeredKinds } from './schema/kind.ts';

/** In dependency order: a kind comes after every other kind it refers to (spec section 1). */
const builtIn = [payer, patient, provider, facility, encounter] as const;

/** The built-in kinds. A kind that comes from outside may be a registered one instead: a `string`. */
export type RecordKind = (typeof builtIn)[number]['kind'];

/** All kinds, in dependency order. */
export const catalog: readonly CatalogEntry[] = [...builtIn, ...registeredKinds()];

/**
 * The number of kinds added since the first release. Read models that cover all kinds get a newer version with each
 * of them.
 */
export const addedKinds = catalog.length - 5;

const byKind = new Map<string, CatalogEntry>();
for (const entry of catalog) {
  const { kind, references, eventType, upcasts } = entry;
  if (!/^[a-z][a-z_]*$/.test(kind) || byKind.has(kind) || kind === 'document') {
    throw new Error(`${kind} cannot be the name of one more kind`);
  }
  const unknown = references.find((reference) => reference.kind !== kind && !byKind.has(reference.kind));
  if (unknown) throw new Error(`${kind}.${unknown.field} refers to a kind that does not come before it`);
  addEventType(eventType, upcasts);
  byKind.set(kind, entry);
}

/** Returns the catalog entry of a kind, which must be in the catalog. */
export function catalogEntry(kind: string): CatalogEntry {
  return byKind.get(kind) as CatalogEntry;
}

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

/** Types of events that name a record as accesses do; those of a hold on a workspace are not about any. */
const namingTypes = ['AccessRecorded', 'HoldAdded', 'HoldReleased', 'VipMarked', 'VipUnmarked'];

export function eventSubject(event: RecordedEvent): EventSubject {
  const { type, data } = event;
  const text = (name: string) => data[name] as string | undefined;
  if (type === READINESS_ERASED) return { kind: 'encounter', recordId: text('record_id') };
  if (encounterReadinessTypes.includes(type)) return { kind: 'encounter', recordId: text('encounter_id') };
  if (type === DISCLOSURES_ERASED) return { kind: 'patient', recordId: text('record_id') };
  if (disclosureTypes.includes(type)) return { kind: 'patient', recordId: text('patient_id') };
  const kind = changedKind(event);
  if (erasureStep(event)) return { kind, recordId: text('record_id'), documentId: text('document_id') };
  if (kind === 'document') return { kind, recordId: text('encounter_id'), documentId: text('document_id') };
  if (kind) return { kind, recordId: text('id') };
  if (!namingTypes.includes(type)) return {};
  return {
    kind: text('kind'),
    recordId: text('record_id'),
    documentId: text('document_id'),
  };
}

/** Returns the ids of the records of a kind that a record's fields refer to; empty where they refer to none. */
export function referredIds(
  { references }: CatalogEntry,
  fields: Partial<RecordFields>,
  kind: string,
): string[] {
  const ids = new Set<string>();
  for (const reference of references) {
    if (reference.kind !== kind) continue;
    const id = reference.path.reduce<unknown>(
      (value, name) => (value as Record<string, unknown> | null | undefined)?.[name],
      fields,
    );
    if (typeof id === 'string') ids.add(id);
  }
  return [...ids];
}

/** Kinds of the records on which a claim is based. */
export const usedKinds: readonly string[] = catalog
  .filter(({ usedInClaim }) => Object.values(usedInClaim).includes(true))
  .map(({ kind }) => kind);

/** Whether a claim uses a field of a record, as its kind says; `field` may be dotted. */
export function isUsedField(kind: string, field: string): boolean {
  const [name = '', inner] = field.split('.');
  const { usedInClaim, nested } = catalogEntry(kind);
  const object = inner === undefined ? undefined : nested.find((one) => one.field === name)?.object;
  return (usedInClaim[name] ?? false) && (object?.usedInClaim[inner ?? ''] ?? true);
}
