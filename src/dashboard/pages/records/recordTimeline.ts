import { pageRequest, pathId } from '../../../api/schemas/parameters.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { type AccessRecorded, recordAccess } from '../../../modules/audit/recordAccess.ts';
import { type QueryPorts, readRecord } from '../../../modules/records/queries/readRecord.ts';
import {
  MOST_ENCOUNTERS,
  readWholeTimeline,
  type TimelineItem,
} from '../../../modules/records/queries/wholeTimeline.ts';
import { changeList } from '../../components/changes.ts';
import { type Html, html } from '../../components/html.ts';
import { documentsPath, recordPath, timelinePath } from '../../components/recordPaths.ts';
import {
  filledQuery,
  kindOf,
  pageParameters,
  recordCrumbs,
  recordsSection,
  unlessBehind,
} from '../../components/recordQuery.ts';
import { type DashboardRoute, type Reply, recordReaders, type Visit } from '../../components/route.ts';
import { badge, empty, leftOut, tryAgain } from '../../components/text.ts';
import { changeCount, origin, outcomeBadge } from '../../components/versions.ts';
import { type ErasedPorts, orErased } from './orErased.ts';

const VERSIONS_A_PAGE = 20;
/** Maximum number of changes shown without expanding them. */
const MAX_OPEN_CHANGES = 6;

interface TimelinePorts extends QueryPorts, ErasedPorts {}

/** `…/records/{kinds}/{id}/timeline`: what happened to a record and everything below it, newest first. */
export function recordTimelineRoutes(ports: TimelinePorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id/timeline',
      roles: recordReaders,
      query: pageParameters,
      handle: (visit) => timelinePage(ports, visit),
    }),
  ];
}

async function timelinePage(ports: TimelinePorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller } = visit;
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  // For an erased one, the page of the record shows what is left.
  await readRecord(ports, workspace, entry, id);
  const request = pageRequest({ query: { limit: String(VERSIONS_A_PAGE), ...filledQuery(req) } });
  const found = await unlessBehind(readWholeTimeline(ports, workspace, entry, id, request));
  const [first, ...others] = accessesTo(found?.items ?? [], { ...request });
  if (first) await recordAccess(ports.eventLog, caller, first, ...others);
  const address = `/dashboard${timelinePath(workspace, entry.kind, id)}`;
  const body = html`${recordCrumbs(workspace, entry, id)}
<h1>Whole timeline</h1>
<p>Every version of the ${entry.title.toLowerCase()}, its encounters and their documents, newest first.</p>
${found ? itemList(workspace, found.items) : tryAgain(req.originalUrl)}
${found && leftOut(found.unreadable)}
${found && !found.isWhole && html`<p class="muted">Covers only the ${MOST_ENCOUNTERS} most recently changed encounters.</p>`}
${
  found?.next_page_token &&
  html`<p><a href="${address}?page_token=${encodeURIComponent(found.next_page_token)}" rel="next">Older versions</a></p>`
}`;
  return { page: { title: 'Whole timeline', section: recordsSection, status: found ? 200 : 503, body } };
}

/** Returns an access for each record and document of which versions are shown. */
function accessesTo(items: readonly TimelineItem[], query: Record<string, unknown>): AccessRecorded[] {
  const accesses = new Map<string, AccessRecorded>();
  for (const item of items) {
    const access: AccessRecorded =
      'documentId' in item
        ? {
            action: 'document.history',
            kind: item.kind,
            record_id: item.id,
            document_id: item.documentId,
            query,
          }
        : { action: 'record.history', kind: item.kind, record_id: item.id, query };
    accesses.set(JSON.stringify(access), access);
  }
  return [...accesses.values()];
}

function itemList(workspace: string, items: readonly TimelineItem[]): Html {
  if (items.length === 0) return empty('There is nothing older.');
  return html`<ol class="timeline">${items.map(
    (item) =>
      html`<li class="version">${'documentId' in item ? ofDocument(workspace, item) : ofRecord(workspace, item)}</li>`,
  )}</ol>`;
}

type DocumentItem = Extract<TimelineItem, { documentId: string }>;
type RecordItem = Exclude<TimelineItem, DocumentItem>;

const whatWasDone: Record<string, [text: string, tone: 'good' | 'bad']> = {
  DocumentUploaded: ['uploaded', 'good'],
  DocumentRemoved: ['removed', 'bad'],
  DocumentErased: ['erased', 'bad'],
};

function ofDocument(workspace: string, { id, documentId, version, filename }: DocumentItem): Html {
  const [text, tone] = whatWasDone[version.type] ?? [version.type, 'bad'];
  return html`<div class="version-line">
<h2><a href="/dashboard${documentsPath(workspace, id, documentId)}">Document ${documentId}, version ${version.version}</a></h2>
${badge(text, tone)}
</div>
${origin(workspace, version)}
<p class="muted">${filename && html`${filename}, `}encounter <a href="/dashboard${recordPath(workspace, 'encounter', id)}">${id}</a></p>`;
}

function ofRecord(workspace: string, { kind, id, version }: RecordItem): Html {
  const { changes, version: number } = version;
  return html`<div class="version-line">
<h2><a href="/dashboard${recordPath(workspace, kind, id)}?version=${number}">${catalogEntry(kind).title} ${id}, version ${number}</a></h2>
${outcomeBadge(version)}
</div>
${origin(workspace, version)}
${
  changes.length === 0
    ? html`<p class="muted">${changeCount(version)}</p>`
    : html`<details${changes.length <= MAX_OPEN_CHANGES && html` open`}><summary>${changeCount(version)}</summary>${changeList(changes)}</details>`
}`;
}
