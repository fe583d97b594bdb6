import type { FieldMessage } from '../../platform/errors.ts';
import type { CatalogEntry, RecordFields } from './catalog.ts';
import type { Checks } from './schema/fieldChecks.ts';

/** Unknown fields named in warnings, and characters shown of each name. */
const MAX_UNKNOWN_NAMED = 20;
const MAX_SHOWN_NAME = 100;

function checkFields(
  checks: Checks,
  sent: Record<string, unknown>,
  input: object,
  prefix: string,
): FieldMessage[] {
  const warnings: FieldMessage[] = [];
  for (const field in sent) {
    const value = sent[field];
    if (typeof value !== 'string') continue;
    // The only thing a schema changes in a text is control characters in names.
    if ((input as Record<string, unknown>)[field] !== value) {
      warnings.push({ field: prefix + field, message: 'contained control characters, which were removed' });
    }
    const message = value === '' ? 'is empty; send null to clear the field' : checks[field]?.(value, sent);
    if (message) warnings.push({ field: prefix + field, message });
  }
  return warnings;
}

function unknownFields(input: object, known: object, prefix: string): FieldMessage[] {
  const warnings: FieldMessage[] = [];
  for (const field of Object.keys(input)) {
    if (Object.hasOwn(known, field)) continue;
    warnings.push({
      field: prefix + field.slice(0, MAX_SHOWN_NAME).toWellFormed(),
      message: 'is not a known field and was not stored',
    });
  }
  return warnings.slice(0, MAX_UNKNOWN_NAMED);
}

/**
 * Returns remarks on an accepted upsert: sent fields that were dropped because the schema does not know them, what
 * validation took out, an insurance that `null` removes, and values that billing is likely to refuse. `input` is the
 * body as sent, `sent` what validation kept of it.
 */
export function qualityWarnings(entry: CatalogEntry, input: object, sent: RecordFields): FieldMessage[] {
  const warnings = [
    ...unknownFields(input, entry.schema.shape, ''),
    ...checkFields(entry.checks, sent, input, ''),
    ...(entry.doubts?.(sent) ?? []),
  ];
  for (const { field, object } of entry.nested) {
    const inner = sent[field] as Record<string, unknown> | null | undefined;
    if (inner === null) {
      const name = object.title.toLowerCase();
      warnings.push({ field, message: `null removes the ${name}; leave the field out to keep it` });
    }
    if (!inner) continue;
    const raw = (input as Record<string, object>)[field] as object;
    warnings.push(
      ...unknownFields(raw, object.schema.shape, `${field}.`),
      ...checkFields(object.checks, inner, raw, `${field}.`),
    );
  }
  return warnings;
}
