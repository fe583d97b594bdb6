import { pageRequest, pathId } from '../../../api/schemas/parameters.ts';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { FieldChange } from '../../../domain/records/fold.ts';
import { fieldOrder } from '../../../domain/records/schema/kind.ts';
import { type AccessRecorded, recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { Workspace } from '../../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../../modules/auth/keyDirectory.ts';
import type { MessageStore } from '../../../modules/integrations/messages/store.ts';
import {
  type FieldLineage,
  type LineagePorts,
  type RecordLineage,
  readLineage,
} from '../../../modules/integrations/replay/lineage.ts';
import type { RecordVersion } from '../../../modules/records/queries/history.ts';
import type { Page as ListPage } from '../../../modules/records/queries/paging.ts';
import { type QueryPorts, readRecord } from '../../../modules/records/queries/records.ts';
import {
  MOST_ENCOUNTERS,
  readFieldHistory,
  readWholeTimeline,
  type TimelineItem,
} from '../../../modules/records/queries/timeline.ts';
import { notFound, ServiceError } from '../../../platform/errors.ts';
import { changeCount, changeList, origin, outcomeBadge } from '../../components/history.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { originCell } from '../../components/records.ts';
import {
  filledQuery,
  kindOf,
  pageParameters,
  recordCrumbs,
  recordsSection,
  unlessBehind,
} from '../../components/recordTable.ts';
import { table } from '../../components/tables.ts';
import { badge, code, empty, fieldLabel, leftOut, time, tryAgain } from '../../components/text.ts';
import { documentsPath, fieldPath, messagePath, recordPath, timelinePath } from '../../components/urls.ts';
import { type ErasedPorts, orErased } from './shared.ts';

/** For all messages that a page reads again. */
const MOST_BYTES = 1024 * 1024;

/**
 * Resolves with where the versions of a record that resulted from messages come from, field by field, by the version.
 * Rejects with `unavailable`.
 */
async function fieldOrigins(
  ports: LineagePorts,
  workspace: Workspace,
  record: { kind: string; id: string },
  versions: readonly RecordVersion[],
): Promise<ReadonlyMap<number, Html>> {
  const cells = new Map<number, Html>();
  let room = MOST_BYTES;
  for (const { version, source, changes } of versions) {
    if (source === undefined) continue;
    const message = await ports.messages.load(workspace.id, source.message);
    if (message === undefined) {
      cells.set(version, gone);
      continue;
    }
    room -= message.size;
    const link = html`<a href="/dashboard${messagePath(workspace.id, message.id)}?fields=shown#fields">message ${message.id}</a>`;
    if (room < 0) {
      cells.set(version, link);
      continue;
    }
    const lineage = await readLineage(ports, workspace, message, source.configuration).catch(goneOf);
    if (lineage === undefined) {
      cells.set(version, gone);
      continue;
    }
    const own = lineage.filter(({ kind, id }) => kind === record.kind && id === record.id);
    const told = changes.map((change) => {
      const found = lineageOf(own, change);
      const cell = found
        ? originCell(message.format, found)
        : html`<span class="muted">Read again, the message does not have this value.</span>`;
      return html`<div>${changes.length > 1 && html`${fieldLabel(change.field)}: `}${cell}</div>`;
    });
    cells.set(version, html`${told}<small>${link}</small>`);
  }
  return cells;
}

const gone = html`<span class="muted">The message is no longer kept.</span>`;

/** It may be removed while it is being read. */
function goneOf(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'not_found') return undefined;
  throw error;
}

/** Returns what determines the value of a change: of several, the last one. */
function lineageOf(records: readonly RecordLineage[], { field, to }: FieldChange): FieldLineage | undefined {
  return records
    .flatMap(({ fields }) => fields)
    .findLast((one) => one.field === field && canonicalJson([one.value ?? null]) === canonicalJson([to]));
}

const CHANGES_A_PAGE = 20;

interface FieldPorts extends QueryPorts, ErasedPorts {
  messages: MessageStore;
  directory: Pick<KeyDirectory, 'known'>;
}

/** `…/records/{kinds}/{id}/fields/{field}`: the versions that changed one field, which is dotted inside an insurance. */
export function recordFieldRoutes(ports: FieldPorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id/fields/:field',
      roles: recordReaders,
      query: pageParameters,
      handle: (visit) => fieldPage(ports, visit),
    }),
  ];
}

async function fieldPage(ports: FieldPorts, visit: Visit): Promise<Reply> {
  const { req, workspace, caller } = visit;
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  const field = String(req.params.field);
  if (fieldOrder(entry)(field) < 0) throw notFound('Field');
  // About an erased one there is nothing more to show.
  await readRecord(ports, workspace, entry, id);
  const request = pageRequest({ query: { limit: String(CHANGES_A_PAGE), ...filledQuery(req) } });
  const history = await readFieldHistory(ports, workspace, entry, id, field, request);
  await recordAccess(ports.eventLog, caller, {
    action: 'record.history',
    kind: entry.kind,
    record_id: id,
    query: { field, ...request },
  });
  const known = ports.directory.known.workspaces.get(workspace);
  const origins = known && (await fieldOrigins(ports, known, { kind: entry.kind, id }, history.items));
  const path = recordPath(workspace, entry.kind, id);
  const body = html`${recordCrumbs(workspace, entry, id)}
<h1>${fieldLabel(field)}</h1>
<p>Every version that changed this field, newest first.</p>
${changeTable(path, history, origins)}
${older(`/dashboard${fieldPath(workspace, entry.kind, id, field)}`, history)}`;
  return { page: { title: 'History of a field', section: recordsSection, body } };
}

function changeTable(
  path: string,
  { items, next_page_token }: ListPage<RecordVersion>,
  origins: ReadonlyMap<number, Html> = new Map(),
): Html {
  if (items.length === 0) {
    return empty(
      next_page_token === null ? 'No version changed it.' : 'None of the versions checked changed it.',
    );
  }
  return table<RecordVersion>(
    'Versions that changed the field',
    [
      {
        title: 'Version',
        isHeader: true,
        cell: ({ version }) =>
          html`<a href="/dashboard${path}?version=${version}" aria-label="Version ${version}">${version}</a>`,
      },
      { title: 'When', cell: ({ recorded_at }) => time(recorded_at) },
      {
        title: 'By',
        cell: ({ principal, request_id }) =>
          html`${who(principal)}<br><small class="muted">request ${code(request_id)}</small>`,
      },
      { title: 'Change', cell: ({ changes }) => changeList(changes) },
      ...(origins.size > 0
        ? [{ title: 'From', cell: ({ version }: RecordVersion) => origins.get(version) }]
        : []),
    ],
    items,
  );
}

function older(address: string, { items, next_page_token }: ListPage<RecordVersion>): Html {
  return html`${
    next_page_token &&
    html`<p><a href="${address}?page_token=${encodeURIComponent(next_page_token)}" rel="next">${
      items.length < CHANGES_A_PAGE ? 'Look further back' : 'Older changes'
    }</a></p>`
  }`;
}

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
