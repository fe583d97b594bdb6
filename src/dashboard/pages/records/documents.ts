import { documentPartitions, documentsModel } from '../../../../projections/records.ts';
import { documentId, encounterId } from '../../../api/routes/history.ts';
import { pageRequest, requestedMoment } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/answer.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { documentFormats } from '../../../domain/records/document.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { RecordExistence } from '../../../modules/records/commands/references.ts';
import {
  type DocumentName,
  type DocumentVersion,
  findDocument,
  type LatestDocuments,
  latestDocuments,
  listDocuments,
  readContent,
  readDocumentAt,
  readDocumentHistory,
} from '../../../modules/records/queries/documents.ts';
import { totalOf } from '../../../modules/records/queries/paging.ts';
import { type QueryPorts, readRecord } from '../../../modules/records/queries/records.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import { total } from '../../components/charts.ts';
import { handedOut, handedOutForm, select } from '../../components/forms.ts';
import { originNote } from '../../components/history.ts';
import { fieldLabel } from '../../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import { who } from '../../components/people.ts';
import { documentTable, erasedBanner, fileSize } from '../../components/records.ts';
import {
  momentParameters,
  pageParameters,
  recordCrumbs,
  recordsSection,
  unlessBehind,
} from '../../components/recordTable.ts';
import { type TableColumn, table } from '../../components/tables.ts';
import { badge, bdi, code, leftOut, time, tryAgain, wholeOnHovering } from '../../components/text.ts';
import { documentsPath } from '../../components/urls.ts';
import { readHead } from './head.ts';
import { type ErasedPorts, orErased, readNames } from './shared.ts';

/** Maximum number of removed documents below the present ones. */
const REMOVED_SHOWN = 50;

interface DocumentPagePorts extends QueryPorts, ErasedPorts {
  existence: RecordExistence;
  documentStore: DocumentStore;
}

/** `…/records/encounters/{id}/documents`: an encounter's documents, the history of each, and their bytes. */
export function recordDocumentsRoutes(ports: DocumentPagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/encounters/:id/documents';
  const route = (
    suffix: string,
    query: readonly string[],
    page: (ports: DocumentPagePorts, visit: Visit) => Promise<Reply>,
  ) =>
    ({
      method: 'get',
      path: path + suffix,
      roles: recordReaders,
      opensWithReason: true,
      query,
      handle: (visit: Visit) => page(ports, visit),
    }) as const;
  return [
    orErased(ports, route('', pageParameters, listPage)),
    route('/:documentId', [...pageParameters, 'preview'], historyPage),
    route('/:documentId/download', momentParameters, download),
    {
      ...{
        method: 'post',
        path: `${path}/:documentId/download`,
        page: `${path}/:documentId`,
        roles: recordReaders,
      },
      handle: (visit) => download(ports, visit),
    },
    route('/:documentId/preview', momentParameters, preview),
  ];
}

async function listPage(ports: DocumentPagePorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller } = visit;
  const id = encounterId(req);
  const request = pageRequest(req);
  const view = await readRecord(ports, workspace, encounter, id);
  const list = await unlessBehind(listDocuments(ports, workspace, id, request));
  const removed =
    list && (await unlessBehind(latestDocuments(ports, workspace, [id], REMOVED_SHOWN, removedPartition)));
  const { head, accesses } = await readHead(ports, visit, encounter, view, 'documents');
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', kind: encounter.kind, record_id: id },
    ...accesses,
    ...(list
      ? [{ action: 'document.list', kind: 'document', record_id: id, query: { ...request } } as const]
      : []),
  );
  const partition = recordStream(workspace, encounter.kind, id);
  const counted = list && (await totalOf(ports.readModels, documentsModel, { partition }));
  const documents = list?.items.map((view) => ({ ...view, encounter_id: id }));
  const body = html`${head}
${documents && documents.length > 0 && total(counted, 'document', 'documents')}
${documents ? documentTable(workspace, documents) : tryAgain(req.originalUrl)}
${list && leftOut(list.unreadable)}
${list && pageLinks(req, { token: list.next_page_token, by: 'list' })}
${removed && removedSection(workspace, removed)}`;
  return { page: { title: 'Documents', section: recordsSection, status: list ? 200 : 503, body } };
}

function removedPartition(encounterStream: string): string[] {
  return documentPartitions(encounterStream).slice(1);
}

/** Returns the removed documents, latest first; nothing where there are none. */
function removedSection(workspace: string, { items, isWhole }: LatestDocuments): Html | undefined {
  if (items.length === 0) return undefined;
  return html`<h2>Removed documents</h2>
${documentTable(workspace, items, { label: 'Removed documents' })}
${!isWhole && html`<p class="muted">Only the most recently removed documents; the timeline has all of them.</p>`}`;
}

async function historyPage(ports: DocumentPagePorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller } = visit;
  const name = nameOf(req, workspace);
  const request = pageRequest(req);
  const { items, next_page_token } = await readDocumentHistory(ports, name, request);
  const place = { kind: encounter.kind, id: name.encounterId };
  const { names, accesses } = await readNames(ports, workspace, [place]);
  const called = names?.nameOf(place.kind, place.id);
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'document.history', ...subjectOf(name), query: { ...request } },
    ...accesses,
  );
  const path = `/dashboard${documentsPath(workspace, name.encounterId, name.documentId)}`;
  const latest = request.pageToken === undefined ? items[0] : undefined;
  const filename = items.find((version) => version.filename)?.filename;
  const erasedAt = items[0]?.reason === undefined ? undefined : items[0].recorded_at;
  const body = html`${recordCrumbs(workspace, encounter, { id: name.encounterId, name: called })}
<div class="record-heading"><h1>Document ${filename && bdi(filename)}</h1>
${latest && fileActions(path, latest)}</div>
${documentFacts(name, latest)}
${erasedAt && erasedBanner('document', erasedAt)}
${latest?.type === 'DocumentRemoved' && removedBanner(latest)}
${previewed(path, items, req.query.preview)}
<h2>Versions</h2>
${versionTable(workspace, path, items)}
${visit.may(recordReaders) && downloadForm(visit, path, items)}
${pageLinks(req, { token: next_page_token })}`;
  return {
    page: { title: 'Document', section: recordsSection, status: erasedAt ? statusOf.gone : 200, body },
  };
}

/** Returns what can be done with the latest version. */
function fileActions(path: string, { version, content_type, content_available }: DocumentVersion): Html {
  if (!content_available) return html``;
  return html`<div class="actions"><a role="button" href="${path}/download?version=${version}">Download</a>
${
  content_type === documentFormats.pdf &&
  html`<a role="button" class="outline secondary" href="${path}?preview=${version}#preview">Preview</a>`
}</div>`;
}

/** `latest` is left out where older versions are shown. */
function documentFacts({ documentId }: DocumentName, latest: DocumentVersion | undefined): Html {
  const { category, size, version, recorded_at } = latest ?? {};
  return html`<p class="record-facts">${category && html`<span>${fieldLabel(category)}</span>`} ${
    typeof size === 'number' && html`<span>${fileSize(size)}</span>`
  } <span>ID ${code(documentId)}</span> ${version && html`<span>Version ${version}</span>`} ${
    recorded_at && html`<span>Last change ${time(recorded_at)}</span>`
  }</p>`;
}

function removedBanner({ recorded_at, principal }: DocumentVersion): Html {
  return html`<p class="banner"><strong>This document was removed</strong> on ${time(recorded_at)} by ${who(principal)}. Its versions can be downloaded for as long as their content is kept.</p>`;
}

const whatWasDone: Record<DocumentVersion['type'], HtmlValue> = {
  DocumentUploaded: 'Uploaded',
  DocumentRemoved: badge('removed', 'bad'),
  DocumentErased: badge('erased', 'bad'),
};

function versionTable(workspace: string, path: string, versions: readonly DocumentVersion[]): Html {
  const columns: TableColumn<DocumentVersion>[] = [
    {
      title: 'Version',
      isHeader: true,
      cell: ({ version }) => html`<span class="row-title">Version </span>${version}`,
    },
    { title: 'Action', cell: ({ type }) => whatWasDone[type] },
    { title: 'When', cell: ({ recorded_at }) => time(recorded_at) },
    { title: 'By', cell: ({ principal }) => who(principal) },
    { title: 'File', isCut: true, cell: (version) => file(workspace, version) },
    { title: 'Download', isTitleHidden: true, cell: (version) => versionLinks(path, version) },
  ];
  return html`<div class="dense">${table('Versions of the document', columns, versions)}</div>`;
}

/** Returns the file of a version; it opens to what distinguishes the file from any other, and from where it came. */
function file(workspace: string, version: DocumentVersion): Html {
  const { filename, category, size, sha256, reason } = version;
  const name =
    filename !== null && size !== null
      ? html`${wholeOnHovering(filename)} <small class="muted">${category && `${fieldLabel(category)}, `}${fileSize(size)}</small>`
      : reason === undefined
        ? 'No file'
        : html`Reason: ${wholeOnHovering(reason)}`;
  return html`<details class="entry"><summary><span>${name}</span></summary><ul class="plain">
${sha256 && html`<li>SHA-256 <code class="digest">${sha256}</code></li>`}<li>${originNote(workspace, version)}</li></ul></details>`;
}

function versionLinks(
  path: string,
  { version, sha256, content_type, content_available }: DocumentVersion,
): HtmlValue {
  if (sha256 === null) return undefined;
  if (!content_available) return html`<span class="muted">no longer kept</span>`;
  return html`${
    content_type === documentFormats.pdf &&
    html`<a href="${path}?preview=${version}#preview" aria-label="Preview version ${version}">Preview</a> `
  }<a href="${path}/download?version=${version}" aria-label="Download version ${version}">Download</a>`;
}

/** Returns a version in a frame, on request: loading it is a download, and in the audit trail as such. */
function previewed(path: string, versions: readonly DocumentVersion[], asked: unknown): Html | undefined {
  const shown = versions.find(({ version }) => String(version) === asked);
  if (!shown?.content_available || shown.content_type !== documentFormats.pdf) return undefined;
  const { version } = shown;
  return html`<h2 id="preview">Preview of version ${version}</h2>
<iframe class="preview no-print" src="${path}/preview?version=${version}" title="Version ${version} of the document"></iframe>
<p class="muted">If nothing is shown, your browser has no PDF viewer: <a href="${path}/download?version=${version}">download it</a>.</p>`;
}

/** Returns the form that downloads a version for an outside recipient, who is named in the audit trail. */
function downloadForm(visit: Visit, path: string, versions: readonly DocumentVersion[]): Html {
  const options = versions
    .filter(({ content_available }) => content_available)
    .map(({ version }) => ({ value: String(version), text: `version ${version}` }));
  if (options.length === 0) return html``;
  const choice = select({ name: 'version', label: 'Version', options });
  return handedOutForm(visit, `${path}/download`, 'Download for recipient', undefined, choice);
}

function preview(ports: DocumentPagePorts, visit: Visit): Promise<Reply> {
  return download(ports, visit, true);
}

/** Resolves with the bytes, to be saved, or to be shown in the page that asks for a preview. */
async function download(
  { eventLog, documentStore }: DocumentPagePorts,
  visit: Visit,
  isPreview = false,
): Promise<Reply> {
  const { req, res, workspace } = visit;
  const { caller } = handedOut(visit);
  const name = nameOf(req, workspace);
  const at = requestedMoment(req.method === 'POST' ? { query: visit.form } : req);
  const { document } = at
    ? await readDocumentAt(eventLog, name, at.moment)
    : await findDocument(eventLog, name);
  const content = await readContent(documentStore, document);
  try {
    await recordAccess(eventLog, caller, {
      action: 'document.download',
      ...subjectOf(name),
      ...((at || isPreview) && { query: { ...at?.query, ...(isPreview && { preview: true }) } }),
    });
  } catch (error) {
    content.destroy();
    throw error;
  }
  res.set('Content-Length', String(document.size));
  const { format, filename } = document;
  // Of the formats, browsers display only this one.
  const isShown = isPreview && format === 'pdf';
  return { download: { type: documentFormats[format], name: filename, body: content, isShown } };
}

function nameOf(req: Visit['req'], workspace: string): DocumentName {
  return { workspace, encounterId: encounterId(req), documentId: documentId(req) };
}

function subjectOf({ encounterId: record_id, documentId: document_id }: DocumentName) {
  return { kind: 'document', record_id, document_id } as const;
}
