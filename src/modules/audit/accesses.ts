import type { Position } from '../../domain/events/event.ts';
import type { DisclosedRecord } from '../../domain/events/payloads.ts';
import type { Cause } from '../readiness/causes.ts';
import type { Readiness } from '../readiness/queries.ts';
import { recordKey, usedVersions } from '../readiness/rules/facts.ts';
import type { BillingFacts } from '../readiness/rules/rule.ts';
import type { Simulation } from '../readiness/simulation.ts';
import type { WorklistEntry } from '../readiness/worklistModel.ts';
import { type Found, looksFor, type SearchRequest } from '../records/queries/search.ts';
import type { AccessRecorded } from './recordAccess.ts';

/** Number of records that one entry names: however long their ids, it is no larger than an event may be. */
const MOST_THINGS = 400;

type Records = readonly { kind: string; id: string }[];
type Accesses = [AccessRecorded, ...AccessRecorded[]];

/**
 * Returns the entries for viewing an EMR message: the records that it is about were shown with it; a single entry, unless these
 * are many. `isRaw`: in its original form, not only its outcome.
 */
export function messageAccesses({ id, about }: { id: string; about: Records }, isRaw = false): Accesses {
  return accessesTo({ message: id, ...(isRaw && { raw: true }) }, about);
}

/**
 * Returns the single entry for a list of EMR messages. `areRecordsShown`: the records that they are about were shown with them;
 * of many, the first.
 */
export function messageListAccess(
  query: Record<string, unknown>,
  messages: readonly { about: Records }[],
  areRecordsShown: boolean,
): AccessRecorded {
  const things = thingsOf(messages.flatMap(({ about }) => about)).slice(0, MOST_THINGS);
  const isShown = areRecordsShown && things.length > 0;
  return {
    action: 'message.list',
    query,
    ...(isShown && { shown: { ranges: [], count: things.length, things } }),
  };
}

/** Returns the entries for a comparison of mappings: messages of a source were read, as requested, and these records shown. */
export function mappingAccesses(query: Record<string, unknown>, records: Records): Accesses {
  return accessesTo(query, records);
}

function accessesTo(query: Record<string, unknown>, records: Records): Accesses {
  const accessTo = (part: Records): AccessRecorded => ({
    action: 'message.read',
    query,
    shown: {
      ...{ ranges: [], count: part.length },
      things: part.map((one) => ({ kind: one.kind, record_id: one.id })),
    },
  });
  const others: AccessRecorded[] = [];
  for (let at = MOST_THINGS; at < records.length; at += MOST_THINGS) {
    others.push(accessTo(records.slice(at, at + MOST_THINGS)));
  }
  return [accessTo(records.slice(0, MOST_THINGS)), ...others];
}

/**
 * Returns the single entry for a read of an encounter's readiness: the records at fault were shown with it, and those whose
 * versions were billed. `asOf`: as requested.
 */
export function readinessAccess(
  { encounter, findings, repairs, billing }: Readiness,
  asOf: string | undefined,
): AccessRecorded {
  const billed = [billing, billing?.acknowledged].flatMap((one) => one?.versions ?? []);
  const named = [...findings, ...repairs].map(({ record }) => record);
  const things = thingsOf([encounter, ...named, ...billed]);
  return {
    action: 'record.readiness',
    kind: encounter.kind,
    record_id: encounter.id,
    ...(asOf !== undefined && { query: { as_of: asOf } }),
    shown: { ranges: [], things },
  };
}

/**
 * Returns the entries for a read of the worklist, or of a part of its export: its encounters, and the records at fault, were
 * shown; a single entry, unless these are many. `query`: as requested.
 */
export function worklistAccesses(
  items: readonly WorklistEntry[],
  query: Record<string, unknown>,
  action: ReadinessAction = 'record.readiness',
): Accesses {
  const named = items.map(({ encounter_id: id, findings }) => [{ kind: 'encounter', id }, ...findings]);
  return readinessAccesses(named, query, action);
}

type ReadinessAction = 'record.readiness' | 'readiness.export';

/**
 * Returns the entries for a read of what is in the way of encounters, or for an export of it: the records by which it is grouped,
 * and some of the encounters, were shown; a single entry, unless these are many. `query`: as requested.
 */
export function causesAccesses(
  causes: readonly Cause[],
  query: Record<string, unknown>,
  action: ReadinessAction = 'record.readiness',
): Accesses {
  const named = causes.map(({ record, encounterIds }) => [
    ...(record ? [record] : []),
    ...encounterIds.map((id) => ({ kind: 'encounter', id })),
  ]);
  return readinessAccesses(named, query, action);
}

/**
 * Returns the entries for drafts of claims: everything on which they are based was shown; a single entry, unless these are many.
 * `query`: as requested.
 */
export function draftAccesses(
  drafts: readonly BillingFacts[],
  query: Record<string, unknown>,
  action: ReadinessAction = 'record.readiness',
): Accesses {
  return readinessAccesses(drafts.map(usedVersions), query, action);
}

/** `items`: the records that each item names. */
function readinessAccesses(
  items: readonly Records[],
  query: Record<string, unknown>,
  action: ReadinessAction,
): Accesses {
  const accessTo = (part: readonly Records[]): AccessRecorded => {
    const shown = { ranges: [], count: part.length, things: thingsOf(part.flat()) };
    return { action, kind: 'encounter', query, shown };
  };
  const [first = [], ...others] = partsOf(items);
  return [accessTo(first), ...others.map(accessTo)];
}

/** Divides a list into parts that an entry can name. */
function partsOf(items: readonly Records[]): Records[][] {
  const parts: Records[][] = [];
  let room = 0;
  for (const item of items) {
    const size = item.length;
    if (size > room) {
      parts.push([]);
      room = MOST_THINGS;
    }
    parts.at(-1)?.push(item);
    room -= size;
  }
  return parts;
}

/** Returns the single entry for the result of a simulation of settings: the encounters named in it were shown. */
export function simulationAccess(
  { encounters, byRule, changed }: Simulation,
  query: Record<string, unknown>,
): AccessRecorded {
  const examples = Object.values(byRule).flatMap((rule) => rule.examples);
  const ids = [...examples, ...changed.map(({ id }) => id)];
  return {
    ...{ action: 'readiness.simulation', kind: 'encounter', query },
    shown: {
      ranges: [],
      count: encounters,
      things: thingsOf(ids.map((id) => ({ kind: 'encounter', id }))),
    },
  };
}

/** Returns each record once. */
function thingsOf(records: readonly { kind: string; id: string }[]): DisclosedRecord[] {
  const things = new Map(records.map(({ kind, id }) => [recordKey(kind, id), { kind, record_id: id }]));
  return [...things.values()];
}

/**
 * Returns the entries for versions of records or documents that were shown: one for each kind. `about`: the action, and what was
 * requested.
 */
export function versionsAccesses(
  about: Pick<AccessRecorded, 'action' | 'query'>,
  shown: readonly { kind: string; versions: readonly { position: Position }[] }[],
): AccessRecorded[] {
  return [...Map.groupBy(shown, ({ kind }) => kind)].map(([kind, ofKind]) => ({
    ...about,
    kind,
    shown: {
      ranges: ofKind.flatMap(({ versions }) =>
        versions.map(({ position }) => ({ from: position, to: position })),
      ),
      count: ofKind.length,
    },
  }));
}

/**
 * Returns the single entry for a search: what it showed, and what sort of words were searched for. The words themselves are not
 * included, as they are names; `kind` is present if one was requested.
 */
export function searchAccess(
  { text, limit }: SearchRequest,
  kind: string | undefined,
  items: readonly FoundThing[],
): AccessRecorded {
  return {
    action: 'record.search',
    query: { for: looksFor(text), ...(kind !== undefined && { kind }), limit },
    shown: { ranges: [], count: items.length, things: items.map(shownThing) },
  };
}

/** What names a record, or a document, that was found. */
type FoundThing = Pick<Found, 'kind' | 'id' | 'details'>;

function shownThing({ kind, id, details }: FoundThing): DisclosedRecord {
  return kind === 'document'
    ? { kind, record_id: details.encounter_id as string, document_id: id }
    : { kind, record_id: id };
}
