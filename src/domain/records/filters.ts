import { z } from 'zod';
import type { CatalogEntry } from './schema/defineKind.ts';
import { unwrapped } from './schema/fields.ts';
import { instantOf } from './schema/instantOf.ts';

/**
 * Matches records whose field has a value. For a flag, `false` matches every value but `true`: it may never have been
 * sent.
 */
export interface ValueFilter {
  field: string;
  value: string | boolean;
}

/** Matches records whose field is a date within bounds, both inclusive; a record without the date does not match. */
export interface RangeFilter {
  field: string;
  from?: string | undefined;
  to?: string | undefined;
}

export type Filter = ValueFilter | RangeFilter;

/** Whether a record with these fields, as folded, passes all of the filters. */
export function passes(filters: readonly Filter[], fields: Record<string, unknown>): boolean {
  return filters.every((filter) => {
    const value = fields[filter.field];
    if ('value' in filter) return meantBy(filter.value, value) === filter.value;
    return typeof value === 'string' && isWithin(filter, value);
  });
}

/** Returns a field's value as a filter with such a value interprets it. */
function meantBy(wanted: string | boolean, value: unknown): unknown {
  return typeof wanted === 'boolean' ? value === true : value;
}

function isWithin({ from, to }: RangeFilter, value: string): boolean {
  return (from === undefined || compare(value, from) >= 0) && (to === undefined || compare(value, to) <= 0);
}

/** A plain date is compared with the date as sent, in whatever zone; any other bound is a moment. */
function compare(value: string, bound: string): number {
  if (bound.length > 10) return instantOf(value) - instantOf(bound);
  const day = value.slice(0, 10);
  return day < bound ? -1 : Number(day > bound);
}

/** Returns the list, in the read model of records, of those that match a filter by value. */
export function listOf({ field, value }: ValueFilter): string {
  return `${field}=${encodeURIComponent(value)}`;
}

/** Returns the lists that a record with these fields is on. */
export function listsOf(entry: CatalogEntry, fields: Record<string, unknown>): string[] {
  return entry.filters.flatMap(({ field, by }) => {
    if (by !== 'value') return [];
    const value = isFlag(entry, field) ? fields[field] === true : fields[field];
    return value === undefined ? [] : [listOf({ field, value: value as string | boolean })];
  });
}

/** Whether a field is a boolean. */
export function isFlag({ schema }: CatalogEntry, field: string): boolean {
  return unwrapped(schema.shape[field] as z.ZodType) instanceof z.ZodBoolean;
}
