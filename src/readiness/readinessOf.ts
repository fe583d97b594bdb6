import { bodyOf } from '../../projections/projection.ts';
import { recordsModel } from '../../projections/records.ts';
import { recordStream } from '../events/streamNames.ts';
import { caughtUp } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import { billedRecord, factsOf, recordKey } from './factsOf.ts';
import { textOf } from './faults.ts';
import { findingsOf, type ReadinessState, readinessState, standsAt } from './findings.ts';
import type { BilledRecord } from './rule.ts';
import { readRuleSettings } from './ruleSettings.ts';

type Records = Map<string, BilledRecord | undefined>;
type Named = readonly [kind: string, id: string | undefined];

/**
 * How these encounters stand now, by their ids, with every write that was acknowledged before the call. Rejects with
 * `unavailable`, also where the read model of records is too far behind.
 */
export async function readinessOf(
  ports: QueryPorts,
  workspace: string,
  encounterIds: readonly string[],
): Promise<Map<string, ReadinessState>> {
  const records: Records = new Map();
  const load = (named: readonly Named[]) => loadRecords(ports, workspace, records, named);
  await caughtUp(ports, recordsModel, 'readiness');
  const encounters = await load(encounterIds.map((id) => ['encounter', id]));
  const referred = await load(
    encounters.flatMap((encounter) => [
      ['patient', textOf(encounter, 'patient_id')],
      ['provider', textOf(encounter, 'provider_id')],
      ['provider', textOf(encounter, 'rendering_provider_id')],
      ['facility', textOf(encounter, 'facility_id')],
    ]),
  );
  await load(referred.map((record) => ['payer', textOf(record, 'primary_insurance.payer_id')]));
  const settings = await readRuleSettings(ports.eventLog, workspace);
  const now = Date.now();
  return new Map(
    encounterIds.flatMap((id) => {
      const facts = factsOf(records, id);
      if (facts === undefined) return [];
      const standing = findingsOf(facts, settings).filter((finding) => standsAt(finding, now));
      return [[id, readinessState(facts, standing)]];
    }),
  );
}

/** Adds the latest versions of what is named and not yet there; gives those that were added. */
async function loadRecords(
  { readModels }: QueryPorts,
  workspace: string,
  records: Records,
  named: readonly Named[],
): Promise<BilledRecord[]> {
  const wanted = new Map<string, Named>();
  for (const [kind, id] of named) {
    if (id !== undefined && !records.has(recordKey(kind, id)))
      wanted.set(recordStream(workspace, kind, id), [kind, id]);
  }
  const rows = await readModels.load(recordsModel, [...wanted.keys()]);
  return rows.flatMap((row) => {
    const [kind = '', id = ''] = wanted.get(row.id) ?? [];
    const state = bodyOf(row);
    const record = state && billedRecord(state, id);
    records.set(recordKey(kind, id), record);
    return record ? [record] : [];
  });
}
