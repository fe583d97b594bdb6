import { documentPartitions, documentsModel } from '../../../../projections/documents.ts';
import { bodyOf } from '../../../../projections/projection.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import type { DocumentCategory } from '../../../domain/records/document.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { allRows } from '../../records/queries/allRows.ts';
import { textOf } from './faults.ts';
import type { RequiredDocuments } from './requiredDocuments.ts';
import type { BilledRecord } from './rule.ts';

const AT_ONCE = 16;

/**
 * Resolves with the categories of encounters' documents according to the read model of documents, by the encounters'
 * ids; only for those whose visit type requires some. Rejects with `unavailable`.
 */
export async function documentCategories(
  readModels: ReadModels,
  workspace: string,
  encounters: readonly BilledRecord[],
  required: RequiredDocuments,
): Promise<Map<string, ReadonlySet<DocumentCategory>>> {
  const wanted = encounters.filter((encounter) => required.has(textOf(encounter, 'visit_type') ?? ''));
  const found = new Map<string, ReadonlySet<DocumentCategory>>();
  const look = async ({ kind, id }: BilledRecord) => {
    const [present = ''] = documentPartitions(recordStream(workspace, kind, id));
    const rows = await Array.fromAsync(allRows(readModels, documentsModel, present));
    const categories = rows.flatMap((row) => bodyOf(row)?.document?.category ?? []);
    found.set(id, new Set(categories));
  };
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    await Promise.all(wanted.slice(at, at + AT_ONCE).map(look));
  }
  return found;
}
