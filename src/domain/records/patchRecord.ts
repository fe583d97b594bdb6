import type { z } from 'zod';
import { isJsonObject } from '../events/event.ts';
import { type CatalogEntry, catalog, type RecordFields } from './catalog.ts';
import { validate, validationError } from './schema/validate.ts';

/** By kind: the schema of a record's fields when only some are sent, and always the id. */
const someFields = new Map(
  catalog.map(({ kind, schema }) => [kind, schema.partial().required({ id: true }) as z.ZodObject]),
);

/** Returns the schema of a kind's fields when only some are sent, and always the id: those of an event. */
export function sentSchema(kind: string): z.ZodObject {
  return someFields.get(kind) as z.ZodObject;
}

/** The result of applying a patch to a record. */
export interface Patched {
  /** The body with the objects in it each merged into the record's own, not yet validated. */
  merged: Record<string, unknown>;
  /** What is to be written: the fields that were sent, objects as a whole, and the id. */
  sent: RecordFields;
}

/**
 * Applies a JSON Merge Patch (RFC 7396) to a record. A write replaces an object (an insurance) as a whole, so one
 * that was sent is first merged into the record's. Throws `validation_failed`, also when a required field would be
 * cleared or another id is sent.
 */
export function patchRecord(entry: CatalogEntry, record: RecordFields, input: unknown): Patched {
  const schema = sentSchema(entry.kind);
  if (!isJsonObject(input)) {
    validate(schema, input);
    throw validationError([{ field: '', message: 'The body must be an object' }]);
  }
  if (input.id !== undefined && input.id !== record.id) {
    throw validationError([{ field: 'id', message: 'must match the id in the path' }]);
  }
  requireNotCleared(entry, input);
  const merged: Record<string, unknown> = { ...input, id: record.id };
  for (const { field } of entry.nested) {
    const [before, after] = [record[field], input[field]];
    if (isJsonObject(before) && isJsonObject(after)) merged[field] = { ...before, ...after };
  }
  return { merged, sent: validate(schema, merged) as RecordFields };
}

function requireNotCleared({ schema }: CatalogEntry, input: Record<string, unknown>): void {
  const cleared = Object.keys(schema.shape).filter(
    (field) => input[field] === null && !(schema.shape[field] as z.ZodType).safeParse(undefined).success,
  );
  if (cleared.length === 0) return;
  throw validationError(
    cleared.map((field) => ({ field, message: 'is required and cannot be cleared with null' })),
  );
}
