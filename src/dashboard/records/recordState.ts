import { type AccessRecorded, recordAccess } from '../../audit/recordAccess.ts';
import { findReferrers } from '../../erasure/findReferrers.ts';
import { currentHolding } from '../../erasure/holds/currentHolding.ts';
import type { ServiceError } from '../../errors.ts';
import { pathId, requestedMoment } from '../../http/endpoints/parameters.ts';
import { statusOf } from '../../http/server/errorAnswer.ts';
import { readRecordAt } from '../../reads/history/recordHistory.ts';
import type { HistoryPorts } from '../../reads/history/versionPage.ts';
import type { Page as ListPage } from '../../reads/page.ts';
import { listDocuments } from '../../reads/readDocument.ts';
import { type QueryPorts, type RecordView, readRecord } from '../../reads/readRecord.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import type { DocumentView } from '../../records/document.ts';
import { instantOf } from '../../records/instantOf.ts';
import { encounter } from '../../records/kinds/encounter.ts';
import { patient } from '../../records/kinds/patient.ts';
import { recordName } from '../../records/recordName.ts';
import { heldBanner } from '../holds/heldBanner.ts';
import { recordHoldPath } from '../holds/holdPaths.ts';
import { type Html, html } from '../shell/html.ts';
import { admins, type DashboardRoute, phiReaders, type Reply, type Visit } from '../shell/route.ts';
import { documentTable } from '../ui/documents.ts';
import { formError, input } from '../ui/formFields.ts';
import { recordFields } from '../ui/recordFields.ts';
import { code, time, tryAgain } from '../ui/text.ts';
import { olderVersions, timeline } from '../ui/timeline.ts';
import { orErased } from './orErased.ts';
import { readTimeline } from './readTimeline.ts';
import { disclosuresPath, documentsPath, erasePath, recordPath, seenPath } from './recordPaths.ts';
import {
  filledQuery,
  kindOf,
  momentParameters,
  pageParameters,
  recordCrumbs,
  recordsSection,
  refusedQuery,
  unlessBehind,
} from './recordQuery.ts';

/** Documents that stand on an encounter's page; a page of their own lists all. */
const DOCUMENTS_SHOWN = 10;

interface StatePorts extends QueryPorts, HistoryPorts {}

/** What is shown of a record: its latest state, or an earlier one and how it was asked for. */
interface Shown {
  view: RecordView;
  asked?: Record<string, unknown>;
  /** Why the latest state is shown, although another one was asked for. */
  refusal?: ServiceError;
}

/** `…/records/{kinds}/{id}`: a record's state, now or at a moment, beside its timeline. */
export function recordStateRoutes(ports: StatePorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id',
      roles: phiReaders,
      query: [...momentParameters, ...pageParameters],
      async handle(visit) {
        const entry = kindOf(visit.req.params.kind);
        const id = pathId(visit.req, 'id', entry.title);
        const isPart = visit.req.get('HX-Request') !== undefined;
        return isPart ? olderPart(ports, visit, entry, id) : statePage(ports, visit, entry, id);
      },
    }),
  ];
}

/** Older versions alone, for the timeline of a page that is open. */
async function olderPart(ports: StatePorts, visit: Visit, entry: CatalogEntry, id: string): Promise<Reply> {
  const { versions, access } = await readTimeline(ports, visit, entry, id);
  await recordAccess(ports.eventLog, visit.caller, access);
  return { fragment: olderVersions(recordPath(visit.workspace, entry.kind, id), versions) };
}

async function statePage(ports: StatePorts, visit: Visit, entry: CatalogEntry, id: string): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const [shown, { versions, access }, holding] = await Promise.all([
    readShown(ports, visit, entry, id),
    readTimeline(ports, visit, entry, id),
    readHolding(ports, workspace, entry, id),
  ]);
  const { view, asked, refusal } = shown;
  const withDocuments = entry.kind === encounter.kind && asked === undefined;
  const documents = withDocuments ? await readDocuments(ports, workspace, id) : undefined;
  const subject = { kind: entry.kind, record_id: id };
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', ...subject, ...(asked && { query: asked }) },
    access,
    ...(documents ? [documents.access] : []),
  );
  const path = recordPath(workspace, entry.kind, id);
  const isOlderPage = filledQuery(req).page_token !== undefined;
  const body = html`${recordCrumbs(workspace, entry)}
${heading(visit, entry, path, view)}
${heldBanner(workspace, entry.kind, holding)}
${asked && banner(path, view)}
<div class="record-columns">
<section aria-labelledby="state">
<h2 id="state">${asked ? `State in version ${view.version}` : 'Current state'}</h2>
${recordFields(workspace, entry, view.record)}
${withDocuments && documentSection(workspace, id, documents?.list, req.originalUrl)}
</section>
<section aria-labelledby="timeline">
<h2 id="timeline">Timeline</h2>
${momentForm(asked, refusal)}
${isOlderPage && html`<p><a href="/dashboard${path}">To the latest versions</a></p>`}
${timeline(path, versions, view.version)}
</section>
</div>`;
  return {
    page: {
      title: entry.title,
      section: recordsSection,
      status: refusal ? statusOf[refusal.code] : 200,
      body,
    },
  };
}

/** The state that was asked for; the latest one, with the reason, where there is no such state. */
async function readShown(
  ports: StatePorts,
  { req, workspace }: Visit,
  entry: CatalogEntry,
  id: string,
): Promise<Shown> {
  try {
    const at = requestedMoment({ query: filledQuery(req) });
    if (at) {
      const view = await readRecordAt(ports.eventLog, workspace, entry, id, at.moment);
      return { view, asked: { ...at.query } };
    }
  } catch (error) {
    const refusal = refusedQuery(error);
    return { view: await readRecord(ports, workspace, entry, id), refusal };
  }
  return { view: await readRecord(ports, workspace, entry, id) };
}

/** The legal holds on a record, of a patient also those on its encounters, unless their read model is too far behind. */
function readHolding(ports: QueryPorts, workspace: string, { kind }: CatalogEntry, id: string) {
  return currentHolding(ports.eventLog, workspace, { kind, id }, async () => {
    if (kind !== patient.kind) return [];
    return (await unlessBehind(findReferrers(ports, workspace, kind, id))) ?? [];
  });
}

/** An encounter's first documents; undefined while their read model is too far behind. */
async function readDocuments(ports: QueryPorts, workspace: string, id: string) {
  const request = { limit: DOCUMENTS_SHOWN, pageToken: undefined };
  const list = await unlessBehind(listDocuments(ports, workspace, id, request));
  const access: AccessRecorded = {
    action: 'document.list',
    kind: 'document',
    record_id: id,
    query: { ...request },
  };
  return list && { list, access };
}

function heading(
  { workspace, user }: Visit,
  { kind, title }: CatalogEntry,
  path: string,
  view: RecordView,
): Html {
  const { id, version, record, created_at, updated_at } = view;
  return html`<div class="record-heading">
<h1>${title} ${recordName(record)}</h1>
<p class="actions"><a role="button" class="outline secondary" href="/dashboard${path}/print">Printable page</a>
<a role="button" class="outline secondary" href="/dashboard${seenPath(workspace, kind, id)}">Who has seen it</a>
${
  kind === patient.kind &&
  html`<a role="button" class="outline secondary" href="/dashboard${disclosuresPath(workspace, id)}">Disclosures</a>`
}
${
  admins.includes(user.role) &&
  html`<a role="button" class="outline secondary" href="/dashboard${recordHoldPath(workspace, kind, id)}">Hold</a>
<a role="button" class="outline secondary" href="/dashboard${erasePath(workspace, kind, id)}">Erase</a>`
}</p>
</div>
<p class="record-facts"><span>ID ${code(id)}</span> <span>version ${version}</span> <span>created ${time(created_at)}</span> <span>last change ${time(updated_at)}</span></p>`;
}

function banner(path: string, { version, updated_at }: RecordView): Html {
  return html`<p class="banner"><strong>This is the record as it was in version ${version}</strong>, which was recorded at ${time(updated_at)}. <a href="/dashboard${path}">Show the latest version</a></p>`;
}

function momentForm(asked: Record<string, unknown> | undefined, refusal: ServiceError | undefined): Html {
  const value =
    typeof asked?.as_of === 'string' ? new Date(instantOf(asked.as_of)).toISOString().slice(0, 19) : '';
  return html`<form method="get" class="moment no-print">
${formError(refusal?.message)}
<div class="line">${input({
    name: 'as_of',
    label: 'As it was at (UTC)',
    type: 'datetime-local',
    step: 1,
    value,
  })}<button type="submit" class="outline">Show</button></div>
</form>`;
}

function documentSection(
  workspace: string,
  encounterId: string,
  list: ListPage<DocumentView> | undefined,
  address: string,
): Html {
  const all = `/dashboard${documentsPath(workspace, encounterId)}`;
  return html`<h2>Documents</h2>
${list ? documentTable(workspace, encounterId, list.items) : tryAgain(address)}
${list?.next_page_token && html`<p><a href="${all}">All documents</a></p>`}`;
}
