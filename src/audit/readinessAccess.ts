import { distinct } from '../readiness/faults.ts';
import type { Readiness } from '../readiness/readReadiness.ts';
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
