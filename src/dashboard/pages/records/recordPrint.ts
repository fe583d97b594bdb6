import { pathId } from '../../../api/schemas/parameters.ts';
import type { DisclosureTerms } from '../../../domain/events/disclosureTerms.ts';
import type { DocumentView } from '../../../domain/records/document.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { recordName } from '../../../domain/records/schema/recordName.ts';
import { type AccessRecorded, recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { Page as ListPage } from '../../../modules/records/queries/page.ts';
import { listDocuments } from '../../../modules/records/queries/readDocument.ts';
import type { QueryPorts, RecordView } from '../../../modules/records/queries/readRecord.ts';
import {
  type RecordVersion,
  readRecordAt,
  readRecordHistory,
} from '../../../modules/records/queries/recordHistory.ts';
import { printedDocuments } from '../../components/documents.ts';
import { facts } from '../../components/facts.ts';
import { type Html, html } from '../../components/html.ts';
import { recordFields } from '../../components/recordFields.ts';
import { recordPath } from '../../components/recordPaths.ts';
import { kindOf, recordsSection, unlessBehind } from '../../components/recordQuery.ts';
import { type DashboardRoute, type Reply, recordReaders, type Visit } from '../../components/route.ts';
import { handedOut, handedOutForm, termsText } from '../../components/termFields.ts';
import { code, time, tryAgain } from '../../components/text.ts';
import { printedVersion } from '../../components/versions.ts';
import { type ErasedPorts, orErased } from './orErased.ts';

/** Maximum number of versions, and of documents, that are printed. */
const MAX_PRINTED = 1000;
const most = MAX_PRINTED.toLocaleString('en-US');

interface PrintPorts extends QueryPorts, ErasedPorts {}

/** `…/records/{kinds}/{id}/print`: a record's current state and its whole timeline, for paper. */
export function recordPrintRoutes(ports: PrintPorts): DashboardRoute[] {
  const route = (method: DashboardRoute['method']) =>
    orErased(ports, {
      method,
      path: '/workspaces/:workspace/records/:kind/:id/print',
      roles: recordReaders,
      query: [],
      handle: (visit) => printPage(ports, visit),
    });
  return [route('get'), route('post')];
}

async function printPage(ports: PrintPorts, visit: Visit): Promise<Reply> {
  const { req, workspace } = visit;
  const { caller, terms } = handedOut(visit);
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  const request = { limit: MAX_PRINTED, pageToken: undefined };
  const history = await readRecordHistory(ports, workspace, entry, id, request);
  // The state that the newest of these versions created, whatever was sent since.
  const version = history.items[0]?.version as number;
  const view = await readRecordAt(ports.eventLog, workspace, entry, id, { version });
  const documents =
    entry.kind === encounter.kind && (await unlessBehind(listDocuments(ports, workspace, id, request)));
  const query = { limit: MAX_PRINTED };
  const accesses: AccessRecorded[] = [{ action: 'record.history', kind: entry.kind, record_id: id, query }];
  if (documents) accesses.push({ action: 'document.list', kind: 'document', record_id: id, query });
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', kind: entry.kind, record_id: id, query: { version } },
    ...accesses,
  );
  const body = html`<div class="paper">
<p class="actions"><a role="button" class="outline secondary" href="/dashboard${recordPath(workspace, entry.kind, id)}">Back to record</a>
<button type="button" data-print hidden>Print</button></p>
<h1>${entry.title} ${recordName(view.record)}</h1>
${printedFacts(visit, view, terms)}
${handedOutForm(visit, `/dashboard${recordPath(workspace, entry.kind, id)}/print`, 'Set recipient', terms)}
<h2>Current state</h2>
${recordFields(workspace, entry, view.record)}
${entry.kind === encounter.kind && documentSection(documents || undefined, req.originalUrl)}
<h2>Timeline</h2>
${timelineSection(workspace, history)}
</div>`;
  return { page: { title: `${entry.title}, printable`, section: recordsSection, body } };
}

/** Returns which record it is, and who had it printed when. */
function printedFacts(
  { workspace, user, requestId }: Visit,
  view: RecordView,
  terms: DisclosureTerms | undefined,
): Html {
  const { id, version, created_at, updated_at } = view;
  const now = new Date().toISOString();
  return facts([
    ['ID', code(id)],
    ['Workspace', code(workspace)],
    ['Version', version],
    ['Created', time(created_at)],
    ['Last change', time(updated_at)],
    ['Printed', html`${time(now)} by ${user.name}, request ${code(requestId)}`],
    ...(terms === undefined ? [] : ([['Recipient', termsText(terms)]] as const)),
  ]);
}

function documentSection(list: ListPage<DocumentView> | undefined, address: string): Html {
  return html`<h2>Documents</h2>
${list ? printedDocuments(list.items) : tryAgain(address)}
${list?.next_page_token && html`<p>Only the first ${most} documents are printed here.</p>`}`;
}

function timelineSection(workspace: string, { items, next_page_token }: ListPage<RecordVersion>): Html {
  const all = items.length === 1 ? 'The only version.' : `All ${items.length} versions, newest first.`;
  const newest = `The newest ${most} versions, newest first. Older ones are not printed here.`;
  return html`<p>${next_page_token === null ? all : newest}</p>
${items.map((version) => printedVersion(workspace, version))}`;
}
