import type { BilledRecord, Fault } from './rule.ts';

/** The text of a field, dotted when nested; undefined where there is none or it is blank. */
export function textOf(record: BilledRecord | undefined, field: string): string | undefined {
  let value: unknown = record?.fields;
  for (const name of field.split('.')) value = (value as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A fault for each of the fields that a record has no text in; none where there is no record. */
export function missing(record: BilledRecord | undefined, fields: readonly string[], why: string): Fault[] {
  if (record === undefined) return [];
  return fields
    .filter((field) => textOf(record, field) === undefined)
    .map((field) => ({ record, field, text: `${why} This field is empty.` }));
}

/** A fault where a record has a text in a field that does not pass; none without a text. */
export function wrong(
  record: BilledRecord | undefined,
  field: string,
  passes: (value: string) => boolean,
  text: string,
): Fault[] {
  const value = textOf(record, field);
  return record === undefined || value === undefined || passes(value) ? [] : [{ record, field, text }];
}

/** Each record once, whatever parts it has in a claim. */
export function distinct(...records: (BilledRecord | undefined)[]): BilledRecord[] {
  const byId = new Map(
    records.flatMap((record) => (record ? [[`${record.kind}-${record.id}`, record]] : [])),
  );
  return [...byId.values()];
}

/** Whether the address of a record is one of the United States. */
export function isInUs({ fields }: BilledRecord): boolean {
  return fields.country === undefined || fields.country === 'US';
}

/** Whether an encounter is void: kept and readable, and not billed. */
export function isVoid({ fields }: Pick<BilledRecord, 'fields'>): boolean {
  return typeof fields.voided_at === 'string';
}

/** The day of a date or date-time, as it was written. */
export function dayOf(date: string): string {
  return date.slice(0, 10);
}
