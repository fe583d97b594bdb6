import { addEventType } from '../events/upcast.ts';
import { encounter } from './kinds/encounter.ts';
import { facility } from './kinds/facility.ts';
import { patient } from './kinds/patient.ts';
import { payer } from './kinds/payer.ts';
import { provider } from './kinds/provider.ts';
import type { CatalogEntry } from './schema/defineKind.ts';
import { registeredKinds } from './schema/registerKind.ts';

export type { CatalogEntry, FilterField, RecordFields, ReferenceField } from './schema/defineKind.ts';

/** In dependency order: a kind comes after every other kind it refers to (spec section 1). */
const builtIn = [payer, patient, provider, facility, encounter] as const;

/** The built-in kinds. A kind that comes from outside may be a registered one instead: a `string`. */
export type RecordKind = (typeof builtIn)[number]['kind'];

/** All kinds, in dependency order. */
export const catalog: readonly CatalogEntry[] = [...builtIn, ...registeredKinds()];

/**
 * The number of kinds added since the first release. Read models that cover all kinds get a newer version with each
 * of them.
 */
export const addedKinds = catalog.length - 5;

const byKind = new Map<string, CatalogEntry>();
for (const entry of catalog) {
  const { kind, references, eventType, upcasts } = entry;
  if (!/^[a-z][a-z_]*$/.test(kind) || byKind.has(kind) || kind === 'document') {
    throw new Error(`${kind} cannot be the name of one more kind`);
  }
  const unknown = references.find((reference) => reference.kind !== kind && !byKind.has(reference.kind));
  if (unknown) throw new Error(`${kind}.${unknown.field} refers to a kind that does not come before it`);
  addEventType(eventType, upcasts);
  byKind.set(kind, entry);
}

/** Returns the catalog entry of a kind, which must be in the catalog. */
export function catalogEntry(kind: string): CatalogEntry {
  return byKind.get(kind) as CatalogEntry;
}
