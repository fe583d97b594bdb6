import type { RecordFields } from './catalog.ts';

/** The value of a field of a record or of an insurance. */
export type FieldValue = string | boolean;

/** One field's value before and after; `null` means none. */
export interface FieldChange {
  /** Dotted inside an insurance: `primary_insurance.policy_number`. */
  field: string;
  from: FieldValue | null;
  to: FieldValue | null;
}

/**
 * Returns a record's fields by dotted name, insurances field by field. No schema has a field with a dot in its name,
 * so names cannot clash.
 */
export function dottedFields(fields: Partial<RecordFields>): Map<string, FieldValue | null | undefined> {
  const values = new Map<string, FieldValue | null | undefined>();
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value !== 'object' || value === null) values.set(field, value as FieldValue | null);
    else for (const [inner, one] of Object.entries(value)) values.set(`${field}.${inner}`, one);
  }
  return values;
}

/**
 * Returns the differences between two folds of a record (`RecordState.fields`), in the order of their fields;
 * `before` is undefined for the first version. An insurance is compared field by field: replacing one lists each
 * field it no longer has, with `to: null`.
 */
export function diffFields(before: RecordFields | undefined, after: RecordFields): FieldChange[] {
  const changes: FieldChange[] = [];
  const old: Partial<RecordFields> = before ?? {};
  for (const field in old) compare(changes, field, old[field], after[field]);
  for (const field in after) if (!Object.hasOwn(old, field)) compare(changes, field, undefined, after[field]);
  return changes;
}

/** Adds the differences in one field, which may be nested before, after or both times. */
function compare(changes: FieldChange[], field: string, before: unknown, after: unknown): void {
  if (before === after) return;
  const [old, now] = [nested(before), nested(after)];
  compareValues(changes, field, old ? undefined : before, now ? undefined : after);
  for (const inner in old) compareValues(changes, `${field}.${inner}`, old[inner], now?.[inner]);
  for (const inner in now) {
    if (!old || !Object.hasOwn(old, inner))
      compareValues(changes, `${field}.${inner}`, undefined, now[inner]);
  }
}

function compareValues(changes: FieldChange[], field: string, before: unknown, after: unknown): void {
  const [from, to] = [(before ?? null) as FieldValue | null, (after ?? null) as FieldValue | null];
  if (from !== to) changes.push({ field, from, to });
}

/**
 * Returns the names that `diffFields` reports, in no particular order. Without the values it takes a tenth of the
 * time, and it runs for every event of the stream.
 */
export function changedFields(before: RecordFields | undefined, after: RecordFields): string[] {
  const names: string[] = [];
  for (const field of Object.keys(after)) collect(names, field, before?.[field], after[field]);
  for (const field of Object.keys(before ?? {})) {
    if (!(field in after)) collect(names, field, before?.[field], undefined);
  }
  return names;
}

/** Adds the names of what differs in one field, which may be nested before, after or both times. */
function collect(names: string[], field: string, before: unknown, after: unknown): void {
  const [old, now] = [nested(before), nested(after)];
  if (old === undefined && now === undefined) {
    if (before !== after) names.push(field);
    return;
  }
  for (const inner in now) if (now[inner] !== old?.[inner]) names.push(`${field}.${inner}`);
  for (const inner in old) if (now?.[inner] === undefined) names.push(`${field}.${inner}`);
}

function nested(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
