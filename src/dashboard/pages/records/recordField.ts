import { pageRequest, pathId } from '../../../api/schemas/parameters.ts';
import { fieldOrder } from '../../../domain/records/schema/fieldOrder.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { KeyDirectory } from '../../../modules/auth/KeyDirectory.ts';
import type { MessageStore } from '../../../modules/integrations/messages/MessageStore.ts';
import { readFieldHistory } from '../../../modules/records/queries/fieldHistory.ts';
import type { Page as ListPage } from '../../../modules/records/queries/page.ts';
import { type QueryPorts, readRecord } from '../../../modules/records/queries/readRecord.ts';
import type { RecordVersion } from '../../../modules/records/queries/recordHistory.ts';
import { notFound } from '../../../platform/errors.ts';
import { changeList } from '../../components/changes.ts';
import { fieldLabel } from '../../components/fieldLabel.ts';
import { type Html, html } from '../../components/html.ts';
import { who } from '../../components/principal.ts';
import { fieldPath, recordPath } from '../../components/recordPaths.ts';
import {
  filledQuery,
  kindOf,
  pageParameters,
  recordCrumbs,
  recordsSection,
} from '../../components/recordQuery.ts';
import { type DashboardRoute, type Reply, recordReaders, type Visit } from '../../components/route.ts';
import { table } from '../../components/table.ts';
import { code, empty, time } from '../../components/text.ts';
import { fieldOrigins } from './fieldOrigins.ts';
import { type ErasedPorts, orErased } from './orErased.ts';

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
