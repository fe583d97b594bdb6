import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import type { RecordFields } from '../../../domain/records/catalog.ts';
import { diffFields, type FieldChange } from '../../../domain/records/diff.ts';
import type { MappedRecord } from './MappedRecords.ts';

/** A record as a mapping creates it. */
export type MappedSide = Pick<MappedRecord, 'fields' | 'told'>;

/** What another mapping means for an existing record. */
export interface RecordComparison {
  /**
   * Fields whose value is still what the mapping in force set, with the values that the other one would set; `null`
   * for none.
   */
  corrections: Record<string, unknown>;
  /** The same, field by field. */
  changes: FieldChange[];
  /** Fields that the other mapping would set differently, and that somebody has changed since: they stay. */
  changedSince: FieldChange[];
}

/**
 * Compares three states: a record as it is, as the mapping in force creates it, and as another one does. Where the
 * mappings differ on a field, its value is corrected only if it is that of the mapping in force.
 */
export function compareRecord(
  present: RecordFields,
  before: MappedSide,
  after: MappedSide,
): RecordComparison {
  const names = new Set([...Object.keys(before.fields ?? {}), ...Object.keys(after.fields ?? {})]);
  const corrected: string[] = [];
  const since: Record<string, unknown> = {};
  for (const name of names) {
    const [is, was, willBe] = [present[name], before.fields?.[name], after.fields?.[name]];
    if (isSame(was, willBe)) {
      // A later write by somebody else made them equal.
      const told = after.told[name];
      const isToldAnew = told !== undefined && !isSame(told, before.told[name]);
      if (isToldAnew && !isSame(told, is)) since[name] = told;
    } else if (isSame(is, willBe)) continue;
    else if (isSame(is, was)) corrected.push(name);
    else since[name] = willBe;
  }
  const corrections = Object.fromEntries(corrected.map((name) => [name, after.fields?.[name] ?? null]));
  return {
    corrections,
    changes: changesOf(present, corrections),
    changedSince: changesOf(present, since),
  };
}

function changesOf(present: RecordFields, wanted: Record<string, unknown>): FieldChange[] {
  const names = Object.keys(wanted);
  const of = (fields: Record<string, unknown>) =>
    Object.fromEntries(names.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])));
  return diffFields(of(present) as RecordFields, of(wanted) as RecordFields);
}

function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson([withoutNone(one)]) === canonicalJson([withoutNone(other)]);
}

/** What is cleared and what never existed are equal: also within an insurance. */
function withoutNone(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner != null));
}
