import { bodyOf } from '../../projections/projection.ts';
import { recordsModel } from '../../projections/records.ts';
import { recordStream } from '../events/streamNames.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { documentCategories } from './documents/documentCategories.ts';
import { billedRecord, factsOf, type Named, namedBy, recordKey } from './factsOf.ts';
import { type Finding, findingsOf } from './findings.ts';
import type { BilledRecord, BillingFacts } from './rule.ts';
import type { RuleSettings } from './ruleSettings.ts';

type Records = Map<string, BilledRecord | undefined>;

/** What the rules say of an encounter, and of what. */
export interface Evaluation {
  facts: BillingFacts;
  /** Also those that begin or end by themselves some day. */
  findings: Finding[];
}

/**
 * What the rules say of these encounters, by their ids, by what the read models of records and documents have; without those that
 * are not there, or cannot be read. Rejects with `unavailable`.
 */
export async function evaluate(
  readModels: ReadModels,
  workspace: string,
  encounterIds: readonly string[],
  settings: RuleSettings,
): Promise<Map<string, Evaluation>> {
  const records: Records = new Map();
  const load = (named: readonly Named[]) => loadRecords(readModels, workspace, records, named);
  const encounters = await load(encounterIds.map((id) => ['encounter', id]));
  const named = await load(encounters.flatMap(namedBy));
  await load(named.flatMap(namedBy));
  const { requiredDocuments } = settings;
  const documents = await documentCategories(readModels, workspace, encounters, requiredDocuments);
  return new Map(
    encounterIds.flatMap((id) => {
      const named = factsOf(records, id);
      if (named === undefined) return [];
      const facts = { ...named, documents: documents.get(id) };
      return [[id, { facts, findings: findingsOf(facts, settings) }]];
    }),
  );
}

/** Adds the latest versions of what is named and not yet there; gives those that were added. */
async function loadRecords(
  readModels: ReadModels,
  workspace: string,
  records: Records,
  named: readonly Named[],
): Promise<BilledRecord[]> {
  const wanted = new Map<string, Named>();
  for (const [kind, id] of named) {
    if (!records.has(recordKey(kind, id))) wanted.set(recordStream(workspace, kind, id), [kind, id]);
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
