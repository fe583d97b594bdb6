import { recordStream } from '../../../domain/events/streamNames.ts';
import { type CatalogEntry, catalogEntry, type RecordFields } from '../../../domain/records/catalog.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { RecordExistence } from './RecordExistence.ts';
import type { ReferenceWait, ReferenceWaits, WaitingCaller } from './ReferenceWaits.ts';

/** A reference to a record, in one of a record's fields. */
export interface Reference {
  field: string;
  kind: string;
  title: string;
  id: string;
  stream: string;
}

/** Returns the references in a record's fields. */
export function referencesOf(workspace: string, entry: CatalogEntry, sent: RecordFields): Reference[] {
  const found: Reference[] = [];
  for (const { field, path, kind, title = catalogEntry(kind).title } of entry.references) {
    const [outer, inner] = path as [string, string | undefined];
    const value = sent[outer];
    const id = inner === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[inner];
    if (typeof id !== 'string') continue;
    found.push({ field, kind, title, id, stream: recordStream(workspace, kind, id) });
  }
  return found;
}

/**
 * Rejects with `reference_not_found` when a record that the sent fields refer to does not exist; the error names every missing
 * kind and id (spec 4.1 rule 1, 4.5). Returns no promise when all are known to exist.
 */
export function checkReferences(
  existence: RecordExistence,
  workspace: string,
  entry: CatalogEntry,
  sent: RecordFields,
): void | Promise<void> {
  if (entry.references.length === 0) return;
  const references = referencesOf(workspace, entry, sent);
  if (references.every(({ stream }) => existence.isKnown(stream))) return;
  return requireExistence(existence, references);
}

/** Waits until the records that the sent fields refer to exist, or the time is up. Rejects as `ReferenceWaits.arrived` does. */
export function awaitReferences(
  { referenceWaits }: { referenceWaits: ReferenceWaits },
  caller: WaitingCaller,
  entry: CatalogEntry,
  sent: RecordFields,
  wait: ReferenceWait,
): Promise<void> {
  const streams = referencesOf(caller.workspace, entry, sent).map(({ stream }) => stream);
  return referenceWaits.arrived(caller, streams, wait);
}

async function requireExistence(existence: RecordExistence, references: Reference[]): Promise<void> {
  const missing = await existence.missing(references.map(({ stream }) => stream));
  const refusal = refusalOf(references, missing);
  if (refusal) throw refusal;
}

/** Returns the error for a record that refers to missing ones; undefined when none are missing. */
export function refusalOf(
  references: readonly Reference[],
  missing: ReadonlySet<string>,
): ServiceError | undefined {
  if (missing.size === 0) return undefined;
  const absent = references.filter(({ stream }) => missing.has(stream));
  return absent.length === 0 ? undefined : referencesNotFound(absent);
}

/** The error for a record with missing references; it names every missing kind and id. */
export function referencesNotFound(absent: Omit<Reference, 'stream'>[]): ServiceError {
  const named = new Set(absent.map(({ title, id }) => `${title} '${id}' does not exist`));
  return new ServiceError('reference_not_found', [...named].join('; '), {
    details: absent.map(({ field, kind, title, id }) => ({
      field,
      message: `refers to a ${title.toLowerCase()} that does not exist`,
      kind,
      id,
      code: 'reference_not_found',
    })),
  });
}
