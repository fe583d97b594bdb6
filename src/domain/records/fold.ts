import type { z } from 'zod';
import type { FieldMessage } from '../../platform/errors.ts';
import { isJsonObject, maxTime, type RecordedEvent } from '../events/event.ts';
import { erasureStepAfter } from '../events/payloads.ts';
import { assertNextVersion, upcast } from '../events/upcasting.ts';
import { catalog, catalogEntry } from './catalog.ts';
import { type CatalogEntry, nestedIn, type RecordFields } from './schema/kind.ts';
import { type Checks, validate, validationError } from './schema/validation.ts';

/** The value of a field of a record or of an insurance. */
type FieldValue = string | boolean;

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

/** What of a record's state decides the result of a write. */
export type WriteBase = Pick<RecordState, 'fields' | 'version' | 'erased'>;

const noFields = {} as RecordFields;

function withoutNulls(value: object): object {
  if (!hasNull(value as Record<string, unknown>)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
}

/** Few have one, and every write asks: an array of the values would cost more than looking at each. */
function hasNull(value: Record<string, unknown>): boolean {
  for (const name in value) if (value[name] === null) return true;
  return false;
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
  const updatedAt = maxTime(state?.updatedAt, event.recordedAt);
  const erasure = erasureStepAfter(state?.version ?? 0, event);
  // The earlier versions may be gone.
  if (erasure === 'done') {
    return { kind, fields: noFields, version, createdAt: updatedAt, updatedAt, erased: true };
  }
  assertNextVersion(state?.version ?? 0, event);
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

/** The possible effects of a write on a record. */
export const outcomes = ['created', 'updated', 'unchanged'] as const;
export type Outcome = (typeof outcomes)[number];

/** The effect of sent fields on a record. */
export interface DetectedChange {
  outcome: Outcome;
  /** Names of the fields whose value changes; those of an insurance are dotted. */
  changedFields: string[];
  /** The record's fields after the write, merged and without defaults. */
  fields: RecordFields;
}

/**
 * Returns the effect of sent fields on a record, as `changed` of the event stream would report it; `state` is
 * undefined where there is no record.
 */
export function detectChange(state: WriteBase | undefined, sent: RecordFields): DetectedChange {
  const fields = mergeFields(state?.fields ?? noFields, sent);
  const changed = changedFields(state?.fields, fields);
  const updated = changed.length === 0 ? 'unchanged' : 'updated';
  return { outcome: state === undefined ? 'created' : updated, changedFields: changed, fields };
}

/** By kind: the schema of a record's fields when only some are sent, and always the id. */
const someFields = new Map(
  catalog.map(({ kind, schema }) => [kind, schema.partial().required({ id: true }) as z.ZodObject]),
);

/** Returns the schema of a kind's fields when only some are sent, and always the id: those of an event. */
export function sentSchema(kind: string): z.ZodObject {
  return someFields.get(kind) as z.ZodObject;
}

/** The result of applying a patch to a record. */
interface Patched {
  /** The body with the objects in it each merged into the record's own, not yet validated. */
  merged: Record<string, unknown>;
  /** What is to be written: the fields that were sent, objects as a whole, and the id. */
  sent: RecordFields;
}

/**
 * Applies a JSON Merge Patch (RFC 7396) to a record. A write replaces an object (an insurance) as a whole, so one
 * that was sent is first merged into the record's. Throws `validation_failed`, also when a required field would be
 * cleared or another id is sent.
 */
export function patchRecord(entry: CatalogEntry, record: RecordFields, input: unknown): Patched {
  const schema = sentSchema(entry.kind);
  if (!isJsonObject(input)) {
    validate(schema, input);
    throw validationError([{ field: '', message: 'The body must be an object' }]);
  }
  if (input.id !== undefined && input.id !== record.id) {
    throw validationError([{ field: 'id', message: 'must match the id in the path' }]);
  }
  requireNotCleared(entry, input);
  const merged: Record<string, unknown> = { ...input, id: record.id };
  for (const { field } of entry.nested) {
    const [before, after] = [record[field], input[field]];
    if (isJsonObject(before) && isJsonObject(after)) merged[field] = { ...before, ...after };
  }
  return { merged, sent: validate(schema, merged) as RecordFields };
}

function requireNotCleared({ schema }: CatalogEntry, input: Record<string, unknown>): void {
  const cleared = Object.keys(schema.shape).filter(
    (field) => input[field] === null && !(schema.shape[field] as z.ZodType).safeParse(undefined).success,
  );
  if (cleared.length === 0) return;
  throw validationError(
    cleared.map((field) => ({ field, message: 'is required and cannot be cleared with null' })),
  );
}

/** Unknown fields named in warnings, and characters shown of each name. */
const MAX_UNKNOWN_NAMED = 20;
const MAX_SHOWN_NAME = 100;

const controlCharacter = /\p{Cc}/u;

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
    const written = (input as Record<string, unknown>)[field];
    // A date in another form is the same date.
    if (written !== value && controlCharacter.test(String(written))) {
      warnings.push({
        field: prefix + field,
        message: 'contained control characters, which were replaced with spaces',
      });
    }
    const message = value === '' ? 'is empty; send null to clear the field' : checks[field]?.(value, sent);
    if (message) warnings.push({ field: prefix + field, message });
  }
  return warnings;
}

/** Returns a warning for each of the first 20 fields of `input` that `known` does not have. */
export function unknownFields(input: object, known: object, prefix: string): FieldMessage[] {
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

/** A row is on the lists of so many visits at most: of those that its encounter was of last. */
const MOST = 20;
const PREFIX = 'visit=';

/**
 * The list, in the read model of records, of the encounters that are, or were, of the visit of an encounter with these fields: of the
 * same patient, provider and day of service (as it was sent), and the same facility or none. Undefined where patient, provider
 * or day is not there.
 */
export function visitList(fields: Readonly<Record<string, unknown>>): string | undefined {
  const [patient, provider, date, facility = ''] = (
    ['patient_id', 'provider_id', 'date_of_service', 'facility_id'] as const
  ).map((field) => textIn(fields, field));
  if (patient === undefined || provider === undefined || date === undefined) return undefined;
  return PREFIX + [patient, provider, date.slice(0, 10), facility].map(encodeURIComponent).join('&');
}

/** The lists of the visits of which an encounter with these fields is or was, by the lists that it was on `before`. */
export function visitLists(
  before: readonly string[] = [],
  fields: Readonly<Record<string, unknown>>,
): string[] {
  const present = visitList(fields);
  const earlier = before.filter((list) => list.startsWith(PREFIX) && list !== present);
  return [...earlier, ...(present === undefined ? [] : [present])].slice(-MOST);
}

function textIn(fields: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = fields[field];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
