import type { Incomplete } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { kindPartition } from '../../domain/events/streamNames.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { visitList } from '../../domain/records/visits.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import type { BilledRecord } from './rules/rule.ts';

/** Maximum number of encounters looked at that belong or belonged to one visit: those created first. */
const MOST_LOOKED_AT = 20;

export type VisitRows = ReadonlyMap<string, readonly Row<RecordState | Incomplete>[]>;

/**
 * Resolves with the rows of the first encounters, in the order of creation, that belong or belonged to the visits of
 * some encounters, by the `visitList` of each. Rejects with `unavailable`.
 */
export async function visitRows(
  readModels: ReadModels,
  workspace: string,
  encounters: readonly BilledRecord[],
): Promise<VisitRows> {
  const lists = [...new Set(encounters.flatMap(({ fields }) => visitList(fields) ?? []))];
  if (lists.length === 0) return new Map();
  const partition = kindPartition(workspace, encounter.kind);
  const heads = await readModels.heads(recordsModel, { partition, lists, limit: MOST_LOOKED_AT });
  return new Map(lists.map((list, at) => [list, heads[at] ?? []]));
}
