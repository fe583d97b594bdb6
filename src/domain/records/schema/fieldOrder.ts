import type { CatalogEntry } from './defineKind.ts';
import { nestedIn } from './nestedObject.ts';

const orders = new WeakMap<CatalogEntry, (field: string) => number>();

/**
 * Returns a function that gives the position of a kind's field in the order of its schema; names are dotted inside
 * nested objects.
 */
export function fieldOrder(entry: CatalogEntry): (field: string) => number {
  const known = orders.get(entry);
  if (known) return known;
  const names = Object.entries(entry.schema.shape).flatMap(([name, field]) => {
    const inner = Object.keys(nestedIn(field)?.schema.shape ?? {});
    return [name, ...inner.map((one) => `${name}.${one}`)];
  });
  const places = new Map(names.map((name, place) => [name, place]));
  const order = (field: string) => places.get(field) ?? -1;
  orders.set(entry, order);
  return order;
}
