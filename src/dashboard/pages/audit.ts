import { Readable } from 'node:stream';
import type { Request } from 'express';
import type { AuditEntry } from '../../../projections/auditEntry.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import {
  type AuditQuery,
  auditFilter,
  auditParameters,
  auditQuery,
  limitsOf,
} from '../../modules/audit/auditQuery.ts';
import { type AuditPage, readAuditTrail, wholeAuditTrail } from '../../modules/audit/readAuditTrail.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import type { UserDirectory } from '../../modules/auth/UserDirectory.ts';
import { auditHeader, auditLine } from '../../modules/integrity/auditLines.ts';
import type { ExportFormat } from '../../modules/integrity/manifest.ts';

import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { type Html, html } from '../components/html.ts';
import { zoneParameter } from '../components/momentFields.ts';
import { filledQuery, textsOf } from '../components/recordQuery.ts';
import { type DashboardRoute, type Page, phiReaders, type Reply, type Visit } from '../components/route.ts';
import { type Refusal, refusalOf } from '../components/sentForm.ts';
import { table } from '../components/table.ts';
import { empty, time } from '../components/text.ts';
import { auditColumns } from './auditColumns.ts';
import { auditForm } from './auditForm.ts';
import { auditRows } from './auditRows.ts';

export interface AuditPagePorts extends QueryPorts {
  directory: KeyDirectory;
  users: UserDirectory;
  names: PrincipalNames;
}

const ENTRIES_A_PAGE = 50;

const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
};

/** The trail that a page shows: a workspace's, or the installation's. */
interface Trail {
  workspace: string;
  /** The full path of the page. */
  path: string;
  caller: Caller;
}

/** The audit trail of each workspace, and of the installation: pages, and exports within the limits of the form. */
export function auditRoutes(ports: AuditPagePorts): DashboardRoute[] {
  const ofWorkspace = ({ workspace, caller }: Visit): Trail => ({
    workspace,
    path: `/dashboard/workspaces/${workspace}/audit`,
    caller,
  });
  const ofInstallation = ({ actor, requestId }: Visit): Trail => ({
    workspace: INSTALLATION,
    path: '/dashboard/audit',
    caller: { ...actor, requestId, workspace: INSTALLATION },
  });
  const routes = (path: string, trailOf: (visit: Visit) => Trail): DashboardRoute[] => [
    {
      method: 'get',
      path,
      roles: phiReaders,
      query: [...auditParameters, zoneParameter],
      handle: async (visit) => ({ page: await auditPage(ports, trailOf(visit), visit.req) }),
    },
    {
      method: 'get',
      path: `${path}/export`,
      roles: phiReaders,
      query: [...auditParameters, 'format'],
      handle: (visit) => auditExport(ports, trailOf(visit), visit.req),
    },
  ];
  return [...routes('/workspaces/:workspace/audit', ofWorkspace), ...routes('/audit', ofInstallation)];
}

async function auditPage(ports: AuditPagePorts, trail: Trail, req: Request): Promise<Page> {
  const filled = filledQuery(req);
  let query: AuditQuery;
  try {
    query = auditQuery(filled);
  } catch (error) {
    return framed(ports, trail, textsOf({ query: filled }), html``, refusalOf(error));
  }
  const limits = limitsOf(query);
  const filter = await auditFilter(ports, trail.workspace, query);
  const found = await readAuditTrail(ports, trail.workspace, filter, {
    limit: ENTRIES_A_PAGE,
    pageToken: query.page_token,
  });
  const { items } = found;
  await ports.names.learn(items.map(({ principal }) => principal));
  await recordAccess(ports.eventLog, trail.caller, { action: 'audit.read', query: limits });
  const body = html`${items.length > 0 && table('Audit trail, newest first', auditColumns(ports.names, trail), auditRows(items))}
${older(trail, limits, found, query.page_token === undefined)}`;
  return framed(ports, trail, limits, body);
}

/** Returns the page with the form, filled in with what was sent, above its body. */
function framed(
  { directory, users }: AuditPagePorts,
  trail: Trail,
  sent: Record<string, string>,
  body: Html,
  refusal?: Refusal,
): Page {
  const { workspace, path } = trail;
  const isInstallation = workspace === INSTALLATION;
  const keys = [...directory.known.keys.values()]
    .filter((key) => key.workspace === workspace)
    .map(({ id, name }) => ({ value: id, text: `API key: ${name}` }));
  const people = users.all().map(({ id, name }) => ({ value: id, text: `User: ${name}` }));
  const title = isInstallation ? 'Sign-ins and users' : 'Audit trail';
  return {
    title,
    section: isInstallation ? 'Sign-ins' : 'Audit trail',
    ...(refusal && { status: refusal.status }),
    body: html`<div class="page-head"><h1>${title}</h1>${!refusal && exportLinks(trail, sent)}</div>
${auditForm(path, sent, [...keys, ...people], isInstallation, refusal)}
${body}`,
  };
}

function exportLinks({ path }: Trail, limits: Record<string, string>): Html {
  const link = (format: ExportFormat, text: string) => {
    const query = new URLSearchParams({ ...limits, format });
    return html`<a role="button" class="outline secondary" href="${path}/export?${query.toString()}" download>${text}</a>`;
  };
  return html`<div class="actions">${link('csv', 'Export as CSV')} ${link('ndjson', 'Export as NDJSON')}</div>`;
}

/** Returns the link to older entries; where scripts run, these are added below the present ones. */
function older({ path }: Trail, limits: Record<string, string>, found: AuditPage, isNewest: boolean): Html {
  const { next_page_token, items, lookedBackTo } = found;
  if (next_page_token === null) {
    const nothing = isNewest ? 'No entries match.' : 'There is nothing older.';
    return html`<div id="older">${items.length === 0 && empty(nothing)}</div>`;
  }
  const isShort = items.length < ENTRIES_A_PAGE && lookedBackTo !== null;
  const url = `${path}?${new URLSearchParams({ ...limits, page_token: next_page_token }).toString()}`;
  // Without a table on this page there is none to add rows to.
  const added =
    items.length > 0 &&
    html` hx-get="${url}" hx-target="previous tbody" hx-select="tbody > tr" hx-swap="beforeend" hx-select-oob="#older"`;
  return html`<div id="older">
${isShort && html`<p class="muted">Searched back to ${time(lookedBackTo)}.</p>`}
<a role="button" class="outline" href="${url}"${added}>${isShort ? 'Look further back' : 'Older'}</a>
</div>`;
}

async function auditExport(
  ports: AuditPagePorts,
  { workspace, caller }: Trail,
  req: Request,
): Promise<Reply> {
  const query = auditQuery(filledQuery(req));
  const limits = limitsOf(query);
  const format = req.query.format === 'csv' ? 'csv' : 'ndjson';
  await recordAccess(ports.eventLog, caller, { action: 'audit.export', query: { ...limits, format } });
  const parts = await wholeAuditTrail(ports, workspace, await auditFilter(ports, workspace, query));
  const name = workspace === INSTALLATION ? 'installation' : workspace;
  const today = new Date().toISOString().slice(0, 10);
  return {
    download: {
      type: mediaTypes[format],
      name: `audit-${name}-${today}.${format}`,
      body: Readable.from(exported(ports.names, format, parts)),
    },
  };
}

async function* exported(
  names: PrincipalNames,
  format: ExportFormat,
  parts: AsyncIterable<AuditEntry[]>,
): AsyncGenerator<string> {
  yield auditHeader(format);
  for await (const entries of parts) {
    await names.learn(entries.map(({ principal }) => principal));
    yield entries.map((entry) => auditLine(entry, format, (principal) => names.nameOf(principal))).join('');
  }
}
