import type { Position } from '../../../domain/events/event.ts';
import { kindPartition, recordIdOf } from '../../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { type ShownPage, showPage } from './listPage.ts';
import { type QueryPorts, type RecordView, readRecord, toRecordView } from './readRecord.ts';
import { isPlain, isSelected, type RecordsRequest, readRecordsPage } from './recordsPage.ts';

/**
 * Resolves with a page of a workspace's records of one kind, as `readRecordsPage` does, and the position up to which
 * it includes every write.
 */
export async function listRecords(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  request: RecordsRequest,
): Promise<ShownPage<RecordView> & { position: Position }> {
  const { position, ...rows } = await readRecordsPage(ports, kindPartition(workspace, entry.kind), request);
  const listing = {
    fromBody: toRecordView,
    fromLog: async (stream: string) => {
      const view = await unlessGone(readRecord(ports, workspace, entry, recordIdOf(stream)));
      return view && isSelected(request, view.record, view.updated_at) ? view : undefined;
    },
    idOf: recordIdOf,
  };
  return { ...(await showPage(rows, listing, !isPlain(request))), position };
}

async function unlessGone<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'gone') return undefined;
    throw error;
  }
}
