import type { AccessRecorded } from '../../audit/recordAccess.ts';
import { recordStream } from '../../events/streamNames.ts';
import { pageRequest } from '../../http/endpoints/parameters.ts';
import { type RecordVersion, readRecordHistory } from '../../reads/history/recordHistory.ts';
import { beforeVersion, type HistoryPorts } from '../../reads/history/versionPage.ts';
import type { Page } from '../../reads/page.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import type { Visit } from '../shell/route.ts';
import { filledQuery } from './recordQuery.ts';

const VERSIONS_A_PAGE = 20;
/** Number of versions newer than the requested one on the page that shows it. */
const NEWER_SHOWN = 9;

/**
 * Resolves with the page of a record's versions that a request asks for, and the access to be recorded before it is
 * shown; where it asks for none, the one with the version `around`, or the newest.
 */
export async function readTimeline(
  ports: HistoryPorts,
  { req, workspace }: Visit,
  entry: CatalogEntry,
  id: string,
  around?: number,
): Promise<{ versions: Page<RecordVersion>; access: AccessRecorded }> {
  const stream = recordStream(workspace, entry.kind, id);
  const nearby = around !== undefined && { page_token: beforeVersion(stream, around + NEWER_SHOWN + 1) };
  const query = { limit: String(VERSIONS_A_PAGE), ...nearby, ...filledQuery(req) };
  const request = pageRequest({ query });
  const versions = await readRecordHistory(ports, workspace, entry, id, request);
  const access: AccessRecorded = {
    action: 'record.history',
    kind: entry.kind,
    record_id: id,
    query: { ...request },
  };
  return { versions, access };
}
