import type { AccessRecorded } from '../../audit/recordAccess.ts';
import { pageRequest } from '../../http/endpoints/parameters.ts';
import { type RecordVersion, readRecordHistory } from '../../reads/history/recordHistory.ts';
import type { HistoryPorts } from '../../reads/history/versionPage.ts';
import type { Page } from '../../reads/page.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import type { Visit } from '../shell/route.ts';
import { filledQuery } from './recordQuery.ts';

const VERSIONS_A_PAGE = 20;

/** The page of a record's versions that a request asks for, and the access to be recorded before it is shown. */
export async function readTimeline(
  ports: HistoryPorts,
  { req, workspace }: Visit,
  entry: CatalogEntry,
  id: string,
): Promise<{ versions: Page<RecordVersion>; access: AccessRecorded }> {
  const request = pageRequest({ query: { limit: String(VERSIONS_A_PAGE), ...filledQuery(req) } });
  const versions = await readRecordHistory(ports, workspace, entry, id, request);
  const access: AccessRecorded = {
    action: 'record.history',
    kind: entry.kind,
    record_id: id,
    query: { ...request },
  };
  return { versions, access };
}
