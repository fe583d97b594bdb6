import { pageRequest } from '../../../api/schemas/parameters.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import type { AccessRecorded } from '../../../modules/audit/recordAccess.ts';
import type { Page } from '../../../modules/records/queries/page.ts';
import { type RecordVersion, readRecordHistory } from '../../../modules/records/queries/recordHistory.ts';
import { beforeVersion, type HistoryPorts } from '../../../modules/records/queries/versionPage.ts';
import { filledQuery } from '../../components/recordQuery.ts';
import type { Visit } from '../../components/route.ts';

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
