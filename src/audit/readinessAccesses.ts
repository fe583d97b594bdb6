import { recordKey } from '../readiness/factsOf.ts';
import { distinct } from '../readiness/faults.ts';
import type { Readiness } from '../readiness/readReadiness.ts';
import type { Simulation } from '../readiness/simulation/simulate.ts';
import type { WorklistEntry } from '../readiness/worklist/worklistEntry.ts';
import type { AccessRecorded } from './recordAccess.ts';

/** The one entry of a read of the readiness of an encounter: the records at fault were shown with it. `asOf`: as it was asked for. */
export function readinessAccess(
  { encounter, findings }: Readiness,
  asOf: string | undefined,
): AccessRecorded {
  const things = distinct(encounter, ...findings.map(({ record }) => record));
  return {
    action: 'record.readiness',
    kind: encounter.kind,
    record_id: encounter.id,
    ...(asOf !== undefined && { query: { as_of: asOf } }),
    shown: { ranges: [], things: things.map(({ kind, id }) => ({ kind, record_id: id })) },
  };
}

/**
 * The one entry of a read of the worklist, or of a part of its export: its encounters, and the records at fault, were shown.
 * `query`: as it was asked.
 */
export function worklistAccess(
  items: readonly WorklistEntry[],
  query: Record<string, unknown>,
  action: 'record.readiness' | 'readiness.export' = 'record.readiness',
): AccessRecorded {
  const named = items.flatMap(({ encounter_id, findings }) => [
    { kind: 'encounter', id: encounter_id },
    ...findings,
  ]);
  const things = new Map(named.map(({ kind, id }) => [recordKey(kind, id), { kind, record_id: id }]));
  return {
    action,
    kind: 'encounter',
    query,
    shown: { ranges: [], count: items.length, things: [...things.values()] },
  };
}

/** The one entry of a simulation of settings: the encounters that were named were shown. */
export function simulationAccess(
  { encounters, byRule }: Simulation,
  query: Record<string, unknown>,
): AccessRecorded {
  const ids = new Set(Object.values(byRule).flatMap(({ examples }) => examples));
  return {
    ...{ action: 'record.readiness', kind: 'encounter', query },
    shown: {
      ranges: [],
      count: encounters,
      things: [...ids].map((id) => ({ kind: 'encounter', record_id: id })),
    },
  };
}
