import { bodyOf } from '../../projections/projection.ts';
import { recordsModel } from '../../projections/records.ts';
import type { Position } from '../events/event.ts';
import { kindPartition } from '../events/streamNames.ts';
import { readPage } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import { catalog } from '../records/catalog.ts';
import { viewRecord } from '../records/fold.ts';
import { referredIds } from '../records/referredIds.ts';

const PAGE = 500;

/** A record that refers to another one. */
export interface Referrer {
  kind: string;
  id: string;
}

/**
 * All records of a workspace that refer to one, as of every write acknowledged before the call; of them those that nobody
 * changed since the position `before`. Rejects with `unavailable`.
 */
export async function findReferrers(
  ports: QueryPorts,
  workspace: string,
  kind: string,
  id: string,
  before: Position = Number.POSITIVE_INFINITY,
): Promise<Referrer[]> {
  const found: Referrer[] = [];
  for (const entry of catalog) {
    if (!entry.references.some((reference) => reference.kind === kind)) continue;
    const partition = kindPartition(workspace, entry.kind);
    for (let pageToken: string | undefined; ; ) {
      const page = await readPage(ports, recordsModel, partition, { limit: PAGE, pageToken });
      for (const row of page.items) {
        const state = bodyOf(row);
        if (state === undefined || row.position >= before) continue;
        const fields = viewRecord(state);
        if (referredIds(entry, fields, kind).includes(id)) found.push({ kind: entry.kind, id: fields.id });
      }
      if (page.next_page_token === null) break;
      pageToken = page.next_page_token;
    }
  }
  return found;
}
