import { isJsonObject, type JsonObject } from '../../../domain/events/event.ts';
import { type CatalogEntry, catalog, catalogEntry } from '../../../domain/records/catalog.ts';
import { identifier } from '../../../domain/records/schema/fields.ts';
import { validationError } from '../../../domain/records/schema/validate.ts';
import { type FieldMessage, ServiceError } from '../../../platform/errors.ts';
import type { LineSubject } from './batchLine.ts';
import type { WriteCondition } from './writeCondition.ts';

/** What a line requests. */
export interface Operation {
  entry: CatalogEntry;
  input: JsonObject;
  condition: WriteCondition;
}

const kinds: readonly string[] = catalog.map(({ kind }) => kind);
const members: readonly string[] = ['kind', 'record', 'if_match'];
/** Maximum number of members named in an error, and of characters shown of each name. */
const MAX_NAMED = 20;
const MAX_SHOWN_NAME = 100;
const callerId = identifier('', '');

/** Returns what a line is about, if it gives a valid kind and id. */
export function subjectOf(value: unknown): LineSubject {
  if (!isJsonObject(value)) return { kind: null, id: null };
  const { kind, record } = value;
  const id = isJsonObject(record) ? record.id : undefined;
  return {
    kind: typeof kind === 'string' && kinds.includes(kind) ? kind : null,
    id: callerId.safeParse(id).success ? (id as string) : null,
  };
}

/**
 * Returns the operation of a line with the content `value` and an apparent kind. Throws `validation_failed`; does not check the
 * record itself.
 */
export function readOperation(value: unknown, seemingKind: string | undefined): Operation {
  if (!isJsonObject(value)) {
    throw new ServiceError('validation_failed', 'A line must be an object with a kind and a record.');
  }
  const { kind, record, if_match: ifMatch } = value;
  const problems: FieldMessage[] = [];
  if (kind === undefined) problems.push({ field: 'kind', message: 'is required' });
  else if (!kinds.includes(kind as string))
    problems.push({ field: 'kind', message: `must be one of ${kinds.join(', ')}` });
  // If a line has two kinds, the last one counts in JSON, but the first one decided when the line is carried out.
  else if (seemingKind !== undefined && kind !== seemingKind)
    problems.push({ field: 'kind', message: 'must be sent once' });
  if (record === undefined) problems.push({ field: 'record', message: 'is required' });
  else if (!isJsonObject(record)) problems.push({ field: 'record', message: 'must be an object' });
  const condition = conditionOf(ifMatch);
  if (condition === undefined)
    problems.push({ field: 'if_match', message: 'must be a version number, 1 or higher, or "*"' });
  for (const name in value) {
    if (members.includes(name)) continue;
    problems.push({
      field: name.slice(0, MAX_SHOWN_NAME).toWellFormed(),
      message: `is not a known field; a line can have ${members.join(', ')}`,
    });
  }
  if (problems.length > 0) throw validationError(problems.slice(0, MAX_NAMED));
  return { entry: catalogEntry(kind as string), input: record as JsonObject, condition: condition ?? 'any' };
}

/** Returns the condition that `if_match` expresses; undefined when it is neither a version nor `*`. */
function conditionOf(ifMatch: unknown): WriteCondition | undefined {
  if (ifMatch === undefined) return 'any';
  if (ifMatch === '*') return 'exists';
  return Number.isSafeInteger(ifMatch) && (ifMatch as number) >= 1 ? (ifMatch as number) - 1 : undefined;
}
