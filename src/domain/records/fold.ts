import type { z } from 'zod';
import type { RecordedEvent } from '../events/event.ts';
import { laterTime } from '../events/laterTime.ts';
import { erasureStepAfter } from '../events/recordErased.ts';
import { requireNext } from '../events/requireNext.ts';
import { upcast } from '../events/upcast.ts';
import { type CatalogEntry, catalogEntry, type RecordFields } from './catalog.ts';
import { nestedIn } from './schema/nestedObject.ts';

/** A record as of some version: the fold of the first `version` events of its stream. */
export interface RecordState {
  kind: string;
  /** The merged fields, without defaults. */
  fields: RecordFields;
  version: number;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** For an erased record: when it was erased. */
  updatedAt: string;
  /** Nothing is left but its version. */
  erased?: true;
}

const noFields = {} as RecordFields;

function withoutNulls(value: object): object {
  if (!Object.values(value).includes(null)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
}

/** Sets a field, whatever its name: assigning to `__proto__` would do something else. */
function set(fields: RecordFields, field: string, value: unknown): void {
  if (field === '__proto__') {
    Object.defineProperty(fields, field, { value, writable: true, enumerable: true, configurable: true });
  } else {
    fields[field] = value;
  }
}

/**
 * JSON Merge Patch (RFC 7396) for one level: a sent field replaces, `null` clears, an omitted one stays. A nested
 * object (insurance) replaces the earlier one as a whole. Neither argument is changed.
 */
export function mergeFields(fields: RecordFields, sent: RecordFields): RecordFields {
  const merged = { ...fields };
  for (const field in sent) {
    const value = sent[field];
    if (value === null) delete merged[field];
    else set(merged, field, typeof value === 'object' ? withoutNulls(value) : value);
  }
  return merged;
}

/**
 * Folds the next event of a record's stream, of any schema version, into its state. Throws an `UnreadableError` for
 * one that is not the next, or that only a newer version of the service can read.
 */
export function evolveRecord(
  kind: string,
  state: RecordState | undefined,
  event: RecordedEvent,
): RecordState {
  const sent = upcast(event).data as RecordFields;
  const version = event.revision + 1;
  const updatedAt = laterTime(state?.updatedAt, event.recordedAt);
  const erasure = erasureStepAfter(state?.version ?? 0, event);
  // The earlier versions may be gone.
  if (erasure === 'done') {
    return { kind, fields: noFields, version, createdAt: updatedAt, updatedAt, erased: true };
  }
  requireNext(state?.version ?? 0, event);
  if (erasure === 'begun' && state) return { ...state, version };
  const before = state?.erased ? undefined : state;
  return {
    kind,
    fields: mergeFields(before?.fields ?? noFields, sent),
    version,
    createdAt: before?.createdAt ?? updatedAt,
    updatedAt,
  };
}

/** Returns the record as callers see it: the folded fields in the schema's order, with the kind's defaults. */
export function viewRecord(state: Pick<RecordState, 'kind' | 'fields'>): RecordFields {
  const entry: CatalogEntry = catalogEntry(state.kind);
  const view: Record<string, unknown> = {};
  for (const field of Object.keys(entry.schema.shape)) {
    const value = state.fields[field] ?? defaultOf(entry, field, state.fields);
    if (value !== undefined) view[field] = inOrder(entry, field, value);
  }
  return view as RecordFields;
}

/** Returns the value of a field; the members of a nested object are put in the order of its schema. */
function inOrder({ schema }: CatalogEntry, field: string, value: unknown): unknown {
  const nested = typeof value === 'object' && nestedIn(schema.shape[field] as z.ZodType);
  if (!nested) return value;
  const fields = value as Record<string, unknown>;
  const ordered: Record<string, unknown> = {};
  for (const name of Object.keys(nested.schema.shape)) {
    if (name in fields) ordered[name] = fields[name];
  }
  return Object.assign(ordered, fields);
}

function defaultOf(entry: CatalogEntry, field: string, fields: RecordFields): unknown {
  const rule = entry.defaults[field];
  if (rule === undefined) return undefined;
  return 'value' in rule ? rule.value : fields[rule.sameAs];
}
