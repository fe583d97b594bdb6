import type { Request } from 'express';
import { recordsQuerySchema, requestedRecords } from '../../../api/routes/recordsQuery.ts';
import { kindPartition } from '../../../domain/events/streamNames.ts';
import { type CatalogEntry, catalog } from '../../../domain/records/catalog.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { listRecords } from '../../../modules/records/queries/listRecords.ts';
import type { QueryPorts } from '../../../modules/records/queries/readRecord.ts';
import { countRecords } from '../../../modules/records/queries/recordsPage.ts';
import { formError } from '../../components/formFields.ts';
import { type Html, html } from '../../components/html.ts';
import { recordsPath } from '../../components/recordPaths.ts';
import { filledQuery, textsOf, unlessBehind } from '../../components/recordQuery.ts';
import { namedFields, recordTable } from '../../components/recordTable.ts';
import type { Visit } from '../../components/route.ts';
import { type Refusal, refusalOf } from '../../components/sentForm.ts';
import { leftOut, tryAgain } from '../../components/text.ts';
import { total } from '../../components/total.ts';
import { recordFilter } from './recordFilter.ts';
import { readReferredNames } from './referredNames.ts';

const RECORDS_A_PAGE = 50;

/** The parameters of the lists of all kinds: filters and sorting are in their addresses. */
export const listParameters: readonly string[] = [
  ...new Set(catalog.flatMap((entry) => Object.keys(recordsQuerySchema(entry).shape))),
];

/** A list of records, and whether it could be shown. */
interface RecordList {
  body: Html;
  status: number;
}

/**
 * Resolves with the records of a kind that a request asks for, most recently changed first; records that they were
 * shown.
 */
export async function readRecordList(
  ports: QueryPorts,
  { req, workspace, caller }: Visit,
  entry: CatalogEntry,
): Promise<RecordList> {
  const { kind: _kind, id: _id, ...sent } = filledQuery(req);
  const limits = withoutPage(textsOf({ query: sent }));
  const filter = (refusal?: Refusal) => recordFilter(workspace, entry, limits, refusal);
  const query = { limit: String(RECORDS_A_PAGE), sort: '-updated_at', ...sent } as Request['query'];
  try {
    const reading = requestedRecords(ports, { req: { query } }, entry, recordsQuerySchema(entry));
    const read = reading.then(async ({ request, asked }) => ({
      ...(await listRecords(ports, workspace, entry, request)),
      request,
      asked,
    }));
    const found = await unlessBehind(read);
    if (found === undefined) return { body: html`${filter()}${tryAgain(req.originalUrl)}`, status: 503 };
    const { page, shown, asked } = found;
    const fields = namedFields(entry.kind);
    const { names, accesses } = await readReferredNames(ports, workspace, entry, page.items, fields);
    const list = { action: 'record.list', kind: entry.kind, query: asked, ...(shown && { shown }) } as const;
    await recordAccess(ports.eventLog, caller, list, ...accesses);
    const { sort = '-updated_at' } = limits;
    const address = (by: string) => listAddress(workspace, entry, { ...limits, sort: by });
    const counted = await countRecords(ports, kindPartition(workspace, entry.kind), found.request);
    const body = html`${filter()}
${page.items.length > 0 && total(counted, entry.kind, entry.plural)}
${recordTable({ workspace, entry, records: page.items, names, sorting: { sort, address } })}
${leftOut(page.unreadable)}
${page.next_page_token && nextPage(workspace, entry, limits, page.next_page_token, page.items.length)}`;
    return { body, status: 200 };
  } catch (error) {
    const refusal = refusalOf(error);
    return { body: html`${formError(refusal.text)}${filter(refusal)}`, status: refusal.status };
  }
}

function withoutPage({ page_token: _token, ...limits }: Record<string, string>): Record<string, string> {
  return limits;
}

function listAddress(workspace: string, { kind }: CatalogEntry, query: Record<string, string>): string {
  return `/dashboard${recordsPath(workspace, kind)}&${new URLSearchParams(query).toString()}#list`;
}

function nextPage(
  workspace: string,
  entry: CatalogEntry,
  limits: Record<string, string>,
  token: string,
  count: number,
): Html {
  const address = listAddress(workspace, entry, { ...limits, page_token: token });
  return html`<p><a href="${address}" rel="next">${count === 0 ? 'Keep looking' : 'Next page'}</a></p>`;
}
