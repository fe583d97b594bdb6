import { recordsModel } from '../../projections/records.ts';
import { ServiceError } from '../errors.ts';
import { kindPartition, recordIdOf } from '../events/streamNames.ts';
import type { CatalogEntry } from '../records/catalog.ts';
import { readListPage, type ShownPage } from './listPage.ts';
import type { PageRequest } from './page.ts';
import { type QueryPorts, type RecordView, readRecord, toRecordView } from './readRecord.ts';

/** A page of a workspace's records of one kind, in the order of their creation. */
export function listRecords(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  request: PageRequest,
): Promise<ShownPage<RecordView>> {
  return readListPage(ports, recordsModel, kindPartition(workspace, entry.kind), request, {
    fromBody: toRecordView,
    fromLog: (stream) => unlessGone(readRecord(ports, workspace, entry, recordIdOf(stream))),
    idOf: recordIdOf,
  });
}

async function unlessGone<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'gone') return undefined;
    throw error;
  }
}
