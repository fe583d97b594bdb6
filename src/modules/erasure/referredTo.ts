import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { kindPartition } from '../../domain/events/streamNames.ts';
import { type CatalogEntry, catalog } from '../../domain/records/catalog.ts';
import { viewRecord } from '../../domain/records/fold.ts';
import { referredIds } from '../../domain/records/referredIds.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/allRows.ts';
import { refersTo } from './findReferrers.ts';
import type { RecordRow } from './RecordAges.ts';

/**
 * Returns which of a kind's records, by id, are referred to by a record that remains, according to `remains`; all of them when a
 * record that may refer to them cannot be read. Takes one pass through all records of the kinds that may. Rejects with
 * `unavailable`.
 */
export async function referredTo(
  readModels: ReadModels,
  workspace: string,
  kind: string,
  ids: ReadonlySet<string>,
  remains: (entry: CatalogEntry, row: RecordRow) => Promise<boolean>,
): Promise<ReadonlySet<string>> {
  const kept = new Set<string>();
  for (const entry of catalog) {
    if (!refersTo(entry, kind)) continue;
    for await (const row of allRows(readModels, recordsModel, kindPartition(workspace, entry.kind))) {
      const state = bodyOf(row);
      if (state === undefined) return ids;
      const named = referredIds(entry, viewRecord(state), kind).filter((id) => ids.has(id) && !kept.has(id));
      if (named.length === 0 || !(await remains(entry, row))) continue;
      for (const id of named) kept.add(id);
      if (kept.size === ids.size) return kept;
    }
  }
  return kept;
}
