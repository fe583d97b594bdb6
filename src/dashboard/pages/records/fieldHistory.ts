import { pageRequest, pathId } from '../../../api/schemas/parameters.ts';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import type { FieldChange } from '../../../domain/records/fold.ts';
import { fieldOrder } from '../../../domain/records/schema/kind.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
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
import { readFieldHistory } from '../../../modules/records/queries/timeline.ts';
import { notFound, ServiceError } from '../../../platform/errors.ts';
import { changed, changeList, type ShownValue } from '../../components/history.ts';
import { fieldLabel } from '../../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import { who } from '../../components/people.ts';
import { linkedValue, originCell } from '../../components/records.ts';
import {
  filledQuery,
  kindOf,
  pageParameters,
  recordCrumbs,
  recordsSection,
} from '../../components/recordTable.ts';
import { table } from '../../components/tables.ts';
import { code, empty, time } from '../../components/text.ts';
import { messagePath, recordPath } from '../../components/urls.ts';
import { readTitle } from './head.ts';
import { type ErasedPorts, orErased, readNames, referredIn } from './shared.ts';

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
    const items = changes.map((change) => {
      const found = lineageOf(own, change);
      const cell = found
        ? originCell(message.format, found)
        : html`<span class="muted">Read again, the message does not have this value.</span>`;
      return html`<div>${changes.length > 1 && html`${fieldLabel(change.field)}: `}${cell}</div>`;
    });
    cells.set(version, html`${items}<small>${link}</small>`);
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
      opensWithReason: true,
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
  const view = await readRecord(ports, workspace, entry, id);
  const { name, accesses } = await readTitle(ports, workspace, entry, view);
  const request = pageRequest({ query: { limit: String(CHANGES_A_PAGE), ...filledQuery(req) } });
  const history = await readFieldHistory(ports, workspace, entry, id, field, request);
  const changes = history.items.flatMap((version) => version.changes);
  const named = await readNames(ports, workspace, referredIn(entry, changes));
  const query = { field, ...request };
  const access = { action: 'record.history', kind: entry.kind, record_id: id, query } as const;
  await recordAccess(ports.eventLog, caller, access, ...accesses, ...named.accesses);
  const known = ports.directory.known.workspaces.get(workspace);
  const origins = known && (await fieldOrigins(ports, known, { kind: entry.kind, id }, history.items));
  const path = recordPath(workspace, entry.kind, id);
  const shown: ShownValue = (value, of) => linkedValue(workspace, entry, of, value, named.names);
  const body = html`${recordCrumbs(workspace, entry, { id, name })}
<h1>${fieldLabel(field)} of ${name}</h1>
<p class="muted">Every version of the ${entry.kind} that changed this field, newest first.</p>
${changeTable(path, field, history, shown, origins)}
${pageLinks(req, { token: history.next_page_token, isShort: history.items.length < CHANGES_A_PAGE })}`;
  return { page: { title: 'History of a field', section: recordsSection, body } };
}

function changeTable(
  path: string,
  field: string,
  { items, next_page_token }: ListPage<RecordVersion>,
  shown: ShownValue,
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
          html`<a href="/dashboard${path}?version=${version}" aria-label="Version ${version}"><span class="row-title">Version </span>${version}</a>`,
      },
      { title: 'When', cell: ({ recorded_at }) => time(recorded_at) },
      {
        title: 'Change',
        cell: ({ changes }) => {
          const [only, ...others] = changes;
          return only?.field === field && others.length === 0
            ? changed(only, shown)
            : changeList(changes, shown);
        },
      },
      { title: 'By', cell: ({ principal }) => who(principal) },
      { title: 'Request', cell: ({ request_id }) => html`<small>${code(request_id)}</small>` },
      ...(origins.size > 0
        ? [{ title: 'From', cell: ({ version }: RecordVersion) => origins.get(version) }]
        : []),
    ],
    items,
  );
}
