import type { Incomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import { kindPartition, recordIdOf } from '../../../domain/events/streamNames.ts';
import { listOf } from '../../../domain/records/filters.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { ReadModels, Row } from '../../../storage/readModels.ts';

const PAGE = 500;

/**
 * Resolves with the rows of the patients merged into one, across all merges: each after those that were merged into
 * it, and never the patient itself. As of what the read model of records has. Rejects with `unavailable`.
 */
export async function mergedPatients(
  readModels: ReadModels,
  workspace: string,
  id: string,
): Promise<Row<RecordState | Incomplete>[]> {
  const known = new Set([id]);
  const found: Row<RecordState | Incomplete>[] = [];
  const partition = kindPartition(workspace, patient.kind);
  const visit = async (into: string) => {
    const list = listOf({ field: 'merged_into', value: into });
    for (let after: number | undefined; ; ) {
      const query = { partition, list, limit: PAGE, ...(after !== undefined && { after }) };
      const rows = await readModels.page(recordsModel, query);
      for (const row of rows) {
        const merged = recordIdOf(row.id);
        if (known.has(merged)) continue;
        known.add(merged);
        await visit(merged);
        found.push(row);
      }
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.order;
    }
  };
  await visit(id);
  return found;
}
