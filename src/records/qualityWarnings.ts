import type { FieldMessage } from '../errors.ts';
import type { CatalogEntry, RecordFields, RecordKind } from './catalog.ts';
import { fieldChecks } from './fieldChecks.ts';
import { insuranceFields, insuranceSchema } from './kinds/patient.ts';

/** Unknown fields that are named in warnings, and characters shown of each name. */
const MAX_UNKNOWN_NAMED = 20;
const MAX_SHOWN_NAME = 100;

const neededForBilling = ['provider_id', 'facility_id', 'date_of_service'];

/** What is doubtful about the fields of a kind taken together. The record itself is not known: it may have what is missing. */
const recordChecks: Partial<Record<RecordKind, (sent: RecordFields) => FieldMessage[]>> = {
  encounter: (sent) =>
    sent.is_completed === true ? missing(sent, neededForBilling, 'the encounter is completed') : [],
  facility: (sent) =>
    sent.facility_type === 'laboratory' ? missing(sent, ['clia_number'], 'the facility is a laboratory') : [],
};

function missing(sent: RecordFields, needed: readonly string[], reason: string): FieldMessage[] {
  return needed
    .filter((field) => typeof sent[field] !== 'string')
    .map((field) => ({
      field,
      message: `was not sent, though ${reason}; billing needs it, now or from an earlier version`,
    }));
}

function checkFields(sent: Record<string, unknown>, input: object, prefix: string): FieldMessage[] {
  const warnings: FieldMessage[] = [];
  for (const field in sent) {
    const value = sent[field];
    if (typeof value !== 'string') continue;
    // What a schema changes of a text are control characters of names alone.
    if ((input as Record<string, unknown>)[field] !== value) {
      warnings.push({ field: prefix + field, message: 'held control characters, which were taken out' });
    }
    const message = value === '' ? 'is empty; null would clear the field' : fieldChecks[field]?.(value, sent);
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
 * Remarks on an accepted upsert: sent fields that were dropped because the schema does not know them, what validation
 * took out, an insurance that `null` removes, and values that billing is likely to refuse. `input` is the body as sent,
 * `sent` what validation kept of it.
 */
export function qualityWarnings(entry: CatalogEntry, input: object, sent: RecordFields): FieldMessage[] {
  const warnings = [
    ...unknownFields(input, entry.schema.shape, ''),
    ...checkFields(sent, input, ''),
    ...(recordChecks[entry.kind]?.(sent) ?? []),
  ];
  if (entry.kind !== 'patient') return warnings;
  for (const rank of insuranceFields) {
    const insurance = sent[rank] as Record<string, unknown> | null | undefined;
    if (insurance === null) {
      warnings.push({ field: rank, message: 'null removes the insurance; leave the field out to keep it' });
    }
    if (!insurance) continue;
    const raw = (input as Record<string, object>)[rank] as object;
    warnings.push(
      ...unknownFields(raw, insuranceSchema.shape, `${rank}.`),
      ...checkFields(insurance, raw, `${rank}.`),
    );
  }
  return warnings;
}
