import { recordStream } from '../../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from './page.ts';
import { type RecordVersion, readRecordHistory } from './recordHistory.ts';
import { beforeVersion, type HistoryPorts } from './versionPage.ts';

const CHUNK = 200;
/** Versions looked at for one page: where the field changed rarely, a page ends before it is full. */
const MAX_SCANNED = 2_000;

/**
 * Resolves with a page of the versions of a record that changed one field, newest first, each with its changes to
 * that field only. `field` is dotted inside an insurance; an insurance's name stands for all of its fields. Where few
 * of many versions changed it, a page may have fewer than `limit` entries, or none, and still have a token. Rejects
 * as `readRecordHistory` does.
 */
export async function readFieldHistory(
  ports: HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  field: string,
  { limit, pageToken }: PageRequest,
): Promise<Page<RecordVersion>> {
  const stream = recordStream(workspace, entry.kind, id);
  const scope = ['field', stream, field];
  const items: RecordVersion[] = [];
  let before = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += CHUNK) {
    const inner = before === undefined ? undefined : beforeVersion(stream, before);
    const request = { limit: CHUNK, pageToken: inner };
    const page = await readRecordHistory(ports, workspace, entry, id, request);
    for (const version of page.items) {
      const changes = version.changes.filter((one) => isOf(field, one.field));
      if (changes.length === 0) continue;
      const last = items.at(-1);
      if (last && items.length === limit) return { items, next_page_token: encodeToken(last.version, scope) };
      items.push({ ...version, changes });
    }
    if (page.next_page_token === null) return { items, next_page_token: null };
    before = page.items.at(-1)?.version;
  }
  return { items, next_page_token: before === undefined ? null : encodeToken(before, scope) };
}

function isOf(field: string, changed: string): boolean {
  return changed === field || changed.startsWith(`${field}.`);
}
