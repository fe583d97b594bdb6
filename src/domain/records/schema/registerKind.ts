import type { CatalogEntry } from './defineKind.ts';

let registered: CatalogEntry[] | undefined = [];

/**
 * Adds a kind to the catalog, after the built-in ones. For a module that is loaded before the service (`node
 * --import`), in each of its threads: the catalog is built once, when it is first imported, and from then on this
 * throws.
 */
export function registerKind(entry: CatalogEntry): void {
  if (registered === undefined) {
    throw new Error(`the kind ${entry.kind} comes too late: the catalog is made. Register it in a preload.`);
  }
  registered.push(entry);
}

/** Returns the registered kinds; no others can be registered afterwards. */
export function registeredKinds(): readonly CatalogEntry[] {
  const kinds = registered ?? [];
  registered = undefined;
  return kinds;
}
