import { type AccessRecorded, recordAccess } from '../../audit/recordAccess.ts';
import type { DisclosureTerms } from '../../events/disclosureTerms.ts';
import { pathId } from '../../http/endpoints/parameters.ts';
import { type RecordVersion, readRecordAt, readRecordHistory } from '../../reads/history/recordHistory.ts';
import type { Page as ListPage } from '../../reads/page.ts';
import { listDocuments } from '../../reads/readDocument.ts';
import type { QueryPorts, RecordView } from '../../reads/readRecord.ts';
import type { DocumentView } from '../../records/document.ts';
import { encounter } from '../../records/kinds/encounter.ts';
import { recordName } from '../../records/recordName.ts';
import { type Html, html } from '../shell/html.ts';
import { type DashboardRoute, type Reply, recordReaders, type Visit } from '../shell/route.ts';
import { printedDocuments } from '../ui/documents.ts';
import { facts } from '../ui/facts.ts';
import { recordFields } from '../ui/recordFields.ts';
import { handedOut, handedOutForm, termsText } from '../ui/termFields.ts';
import { code, time, tryAgain } from '../ui/text.ts';
import { printedVersion } from '../ui/versions.ts';
import { type ErasedPorts, orErased } from './orErased.ts';
import { recordPath } from './recordPaths.ts';
import { kindOf, recordsSection, unlessBehind } from './recordQuery.ts';

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
