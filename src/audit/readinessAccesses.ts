import type { ShownThing } from '../events/shown.ts';
import { recordKey } from '../readiness/factsOf.ts';
import type { Readiness } from '../readiness/readReadiness.ts';
import type { Simulation } from '../readiness/simulation/simulate.ts';
import type { WorklistEntry } from '../readiness/worklist/worklistEntry.ts';
import type { AccessRecorded } from './recordAccess.ts';

/** Records that one entry names: however long their ids are, it is no larger than an event may be. */
const MOST_THINGS = 400;

/**
 * The one entry of a read of the readiness of an encounter: the records at fault were shown with it, and those of which versions were
 * billed. `asOf`: as it was asked for.
 */
export function readinessAccess(
  { encounter, findings, billing }: Readiness,
  asOf: string | undefined,
): AccessRecorded {
  const billed = [billing, billing?.acknowledged].flatMap((one) => one?.versions ?? []);
  const things = thingsOf([encounter, ...findings.map(({ record }) => record), ...billed]);
  return {
    action: 'record.readiness',
    kind: encounter.kind,
    record_id: encounter.id,
    ...(asOf !== undefined && { query: { as_of: asOf } }),
    shown: { ranges: [], things },
  };
}

/**
 * The entries of a read of the worklist, or of a part of its export: its encounters, and the records at fault, were shown; one, unless these
 * are many. `query`: as it was asked.
 */
export function worklistAccesses(
  items: readonly WorklistEntry[],
  query: Record<string, unknown>,
  action: 'record.readiness' | 'readiness.export' = 'record.readiness',
): [AccessRecorded, ...AccessRecorded[]] {
  const accessTo = (part: readonly WorklistEntry[]): AccessRecorded => {
    const named = part.flatMap(({ encounter_id: id, findings }) => [{ kind: 'encounter', id }, ...findings]);
    const shown = { ranges: [], count: part.length, things: thingsOf(named) };
    return { action, kind: 'encounter', query, shown };
  };
  const [first = [], ...others] = partsOf(items);
  return [accessTo(first), ...others.map(accessTo)];
}

/** So many of a list at once as an entry may name. */
function partsOf(items: readonly WorklistEntry[]): WorklistEntry[][] {
  const parts: WorklistEntry[][] = [];
  let room = 0;
  for (const item of items) {
    const size = 1 + item.findings.length;
    if (size > room) {
      parts.push([]);
      room = MOST_THINGS;
    }
    parts.at(-1)?.push(item);
    room -= size;
  }
  return parts;
}

/** The one entry of what a simulation of settings has found: the encounters that were named were shown. */
export function simulationAccess(
  { encounters, byRule }: Simulation,
  query: Record<string, unknown>,
): AccessRecorded {
  const ids = Object.values(byRule).flatMap(({ examples }) => examples);
  return {
    ...{ action: 'readiness.simulation', kind: 'encounter', query },
    shown: {
      ranges: [],
      count: encounters,
      things: thingsOf(ids.map((id) => ({ kind: 'encounter', id }))),
    },
  };
}

/** Each record once. */
function thingsOf(records: readonly { kind: string; id: string }[]): ShownThing[] {
  const things = new Map(records.map(({ kind, id }) => [recordKey(kind, id), { kind, record_id: id }]));
  return [...things.values()];
}
