import { documentPartitions, documentsModel } from '../../../../projections/documents.ts';
import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { erasureStep } from '../../../domain/events/recordErased.ts';
import { documentIdsOf, recordStream } from '../../../domain/events/streamNames.ts';
import { type DocumentState, type DocumentView, evolveDocument } from '../../../domain/records/document.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { UnreadableError } from '../../../platform/errors.ts';
import type { Row } from '../../../storage/readModels.ts';
import { allRows } from './allRows.ts';
import { foldStream } from './foldStream.ts';
import { caughtUp } from './page.ts';
import type { QueryPorts } from './readRecord.ts';
import { type HistoryPorts, toEntries, type VersionEntry } from './versionPage.ts';

const READ_AT_ONCE = 16;

export type DocumentRow = Row<DocumentState | Incomplete>;

/** A document in a list: a present or a removed one. */
export interface ListedDocument
  extends Pick<DocumentView, 'document_id' | 'category' | 'filename' | 'size' | 'version' | 'updated_at'> {
  encounter_id: string;
  /** For a document removed at `updated_at`: by whom. */
  removed_by?: VersionEntry['principal'];
}

export interface LatestDocuments {
  items: ListedDocument[];
  /** Whether these are all. */
  isWhole: boolean;
  /** The caller's ids of what is left out because an event in its history cannot be read by this process. */
  unreadable: string[];
}

/**
 * Resolves with the documents of encounters that changed last, as of every write acknowledged before the call:
 * including removed ones, but not erased ones. `partitionsOf` names the partitions of an encounter's documents, by
 * its stream. Rejects with `unavailable`.
 */
export async function latestDocuments(
  ports: QueryPorts & HistoryPorts,
  workspace: string,
  encounterIds: readonly string[],
  limit: number,
  partitionsOf: (encounter: string) => string[] = documentPartitions,
): Promise<LatestDocuments> {
  const rows = await documentRows(ports, workspace, encounterIds, partitionsOf);
  const latest = rows.toSorted((a, b) => b.position - a.position).slice(0, limit);
  const unreadable: string[] = [];
  const listed = await Promise.all(
    latest.map(async (row) => {
      try {
        return await toListed(ports, row);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
        unreadable.push(documentIdsOf(row.id).documentId);
        return undefined;
      }
    }),
  );
  const items = listed.filter((one) => one !== undefined);
  return { items, isWhole: rows.length <= limit, unreadable };
}

/**
 * Resolves with the rows of encounters' documents, in no particular order, as of every write acknowledged before the
 * call. Rejects with `unavailable`.
 */
export async function documentRows(
  ports: QueryPorts,
  workspace: string,
  encounterIds: readonly string[],
  partitionsOf: (encounter: string) => string[] = documentPartitions,
): Promise<DocumentRow[]> {
  const rows: DocumentRow[] = [];
  if (encounterIds.length > 0) await caughtUp(ports, documentsModel);
  for (let at = 0; at < encounterIds.length; at += READ_AT_ONCE) {
    const partitions = encounterIds
      .slice(at, at + READ_AT_ONCE)
      .flatMap((id) => partitionsOf(recordStream(workspace, encounter.kind, id)));
    const reading = partitions.map((one) => Array.fromAsync(allRows(ports.readModels, documentsModel, one)));
    rows.push(...(await Promise.all(reading)).flat());
  }
  return rows;
}

/** Resolves with nothing when it has been erased meanwhile. Rejects with `unreadable`. */
async function toListed(ports: HistoryPorts, row: DocumentRow): Promise<ListedDocument | undefined> {
  const state = bodyOf(row) ?? (await foldStream(ports.eventLog, row.id, evolveDocument));
  if (state?.document === undefined) return undefined;
  const { document_id, category, filename, size } = state.document;
  const { encounterId: encounter_id } = documentIdsOf(row.id);
  const { version, updatedAt: updated_at } = state;
  const listed = { document_id, category, filename, size, version, updated_at, encounter_id };
  if (!state.removed) return listed;
  const [last] = await ports.eventLog.readStream(row.id, { direction: 'backwards', limit: 1 });
  if (last === undefined || erasureStep(last) === 'done') return undefined;
  const [entry] = await toEntries(ports, [last]);
  return entry && { ...listed, removed_by: entry.principal };
}
