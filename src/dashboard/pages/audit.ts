import { Readable } from 'node:stream';
import type { Request } from 'express';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { eventTypes } from '../../domain/events/upcasting.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { accessActions, recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  type AuditPage,
  type AuditQuery,
  auditFilter,
  auditParameters,
  auditQuery,
  limitsOf,
  readAuditTrail,
  wholeAuditTrail,
} from '../../modules/audit/trail.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import type { UserDirectory } from '../../modules/auth/users.ts';
import { auditHeader, auditLine } from '../../modules/integrity/export.ts';
import type { ExportFormat } from '../../modules/integrity/exportArchive.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import type { WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import { filterForm, input, messageOf, select } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  requestReaders,
  trailReaders,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { principalChoices } from '../components/people.ts';
import { filledQuery, textsOf } from '../components/recordTable.ts';
import { table } from '../components/tables.ts';
import { empty, time } from '../components/text.ts';
import { momentInputs, shownMoment, sinceLinks, zoneParameter } from '../components/time.ts';
import { signedPath } from '../components/urls.ts';
import { actionText, auditColumns, auditRows, recordsIn } from './auditTable.ts';
import { readNames } from './records/shared.ts';

interface Option {
  value: string;
  text: string;
}

const settingKinds = ['api_key', 'webhook', 'workspace'];
const actions = [...eventTypes().filter((type) => type !== 'AccessRecorded'), ...accessActions];
const isOfInstallation = (action: string) => /^(?:User|Setup|sign_|audit\.|key\.)/.test(action);
const isOfWorkspace = (action: string) => !/^(?:User|Setup|sign_|key\.)/.test(action);

const byText = (a: Option, b: Option) => a.text.localeCompare(b.text);

/**
 * Returns the form that filters the trail: of one workspace, or of the installation. `principals` are the choices
 * offered.
 */
function auditForm(
  path: string,
  sent: Record<string, string>,
  principals: readonly Option[],
  isInstallation: boolean,
  refusal?: Refusal,
): Html {
  const choice = (name: string, label: string, anyText: string, options: readonly Option[]) => {
    const chosen = sent[name] ?? '';
    const isListed = chosen === '' || options.some((option) => option.value === chosen);
    const listed = isListed ? options : [{ value: chosen, text: chosen }, ...options];
    return select({ name, label, value: chosen, options: [{ value: '', text: anyText }, ...listed] });
  };
  const field = (name: string, label: string) => ({
    ...{ name, label, value: sent[name], error: messageOf(refusal?.details, name) },
  });
  const moment = (name: string, label: string) => ({
    ...{ ...field(name, label), value: shownMoment(sent[name]), step: 1 },
  });
  const kinds = isInstallation ? ['user'] : [...subjectKinds, ...settingKinds];
  const known = actions.filter(isInstallation ? isOfInstallation : isOfWorkspace);
  return html`${sinceLinks(path, sent)}
${filterForm({
  path: path,
  limits: sent,
  refusal,
  fields: html`${momentInputs(moment('from', 'From'), moment('to', 'Before'))}
${choice('principal', 'Who', 'Anyone', principals)}
${choice('action', 'Action', 'Any action', known.map((action) => ({ value: action, text: actionText(action) })).sort(byText))}
${choice(
  'kind',
  'Kind',
  'Any kind',
  kinds.map((kind) => ({ value: kind, text: titleOf(kind) })),
)}
${input({ ...field('id', isInstallation ? 'User ID' : 'Record ID'), type: 'search' })}
${
  !isInstallation &&
  select({
    name: 'seen',
    label: 'About the record',
    value: sent.seen ?? '',
    options: [
      { value: '', text: 'Entries that name it' },
      { value: 'yes', text: 'Who has seen it' },
      { value: 'all', text: 'Who has seen the patient' },
    ],
    error: messageOf(refusal?.details, 'seen'),
  })
}
${choice('outcome', 'Outcome', 'Any outcome', [
  { value: 'accepted', text: 'Accepted' },
  { value: 'refused', text: 'Refused' },
])}
${select({
  name: 'without_views',
  label: 'Page views',
  value: sent.without_views ?? '',
  options: [
    { value: '', text: 'Included' },
    { value: 'yes', text: 'Excluded' },
  ],
})}`,
})}`;
}

interface AuditPagePorts extends QueryPorts {
  directory: KeyDirectory;
  users: UserDirectory;
  names: PrincipalNames;
  webhookDirectory: WebhookDirectory;
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
  hasRequests: boolean;
  /** Whether the reader may see the names of records. */
  hasNames: boolean;
  caller: Caller;
}

/** The audit trail of each workspace, and of the installation: pages, and exports within the limits of the form. */
export function auditRoutes(ports: AuditPagePorts): DashboardRoute[] {
  const ofWorkspace = ({ workspace, caller, may }: Visit): Trail => ({
    workspace,
    hasRequests: may(requestReaders),
    hasNames: may(recordReaders),
    path: `/dashboard/workspaces/${workspace}/audit`,
    caller,
  });
  const ofInstallation = ({ actor, requestId }: Visit): Trail => ({
    workspace: INSTALLATION,
    path: '/dashboard/audit',
    hasRequests: false,
    hasNames: false,
    caller: { ...actor, requestId, workspace: INSTALLATION },
  });
  const routes = (
    path: string,
    trailOf: (visit: Visit) => Trail,
    signed: Pick<DashboardRoute, 'report'>,
  ): DashboardRoute[] => [
    {
      method: 'get',
      path,
      roles: trailReaders,
      query: [...auditParameters, zoneParameter],
      handle: async (visit) => ({ page: await auditPage(ports, trailOf(visit), visit.req) }),
    },
    {
      method: 'get',
      path: `${path}/export`,
      ...signed,
      roles: trailReaders,
      query: [...auditParameters, 'format'],
      handle: (visit) => auditExport(ports, trailOf(visit), visit.req),
    },
  ];
  return [
    ...routes('/workspaces/:workspace/audit', ofWorkspace, { report: 'audit' }),
    ...routes('/audit', ofInstallation, {}),
  ];
}

async function auditPage(ports: AuditPagePorts, trail: Trail, req: Request): Promise<Page> {
  const filled = filledQuery(req);
  let query: AuditQuery;
  try {
    query = auditQuery(filled);
  } catch (error) {
    return framed(ports, trail, textsOf({ query: filled }), html``, problemOf(error));
  }
  const limits = limitsOf(query);
  const filter = await auditFilter(ports, trail.workspace, query);
  const found = await readAuditTrail(ports, trail.workspace, filter, {
    limit: ENTRIES_A_PAGE,
    pageToken: query.page_token,
  });
  const { items } = found;
  await ports.names.learn(items.map(({ principal }) => principal));
  const { names, accesses } = await readNames(ports, trail.workspace, trail.hasNames ? recordsIn(items) : []);
  const read = { action: 'audit.read', query: limits } as const;
  await recordAccess(ports.eventLog, trail.caller, read, ...accesses);
  const named = { principals: ports.names, records: names, webhooks: ports.webhookDirectory };
  const list = table('Audit trail, newest first', auditColumns(named, trail), auditRows(items));
  const body = html`${items.length > 0 && html`<div class="audit-trail">${list}</div>`}
${older(req, found)}`;
  return framed(ports, trail, limits, body);
}

/** Returns the page with the form, filled in with what was sent, above its body. */
function framed(
  ports: AuditPagePorts,
  trail: Trail,
  sent: Record<string, string>,
  body: Html,
  refusal?: Refusal,
): Page {
  const { workspace, path } = trail;
  const isInstallation = workspace === INSTALLATION;
  const title = isInstallation ? 'Sign-ins and users' : 'Audit trail';
  return {
    title,
    section: isInstallation ? 'Sign-ins' : 'Audit trail',
    ...(refusal && { status: refusal.status }),
    body: html`<div class="page-head"><h1>${title}</h1>${!refusal && exportLinks(trail, sent)}</div>
${auditForm(path, sent, principalChoices(ports, workspace, sent.principal), isInstallation, refusal)}
${body}`,
  };
}

function exportLinks({ path, workspace }: Trail, limits: Record<string, string>): Html {
  const link = (format: ExportFormat, text: string) => {
    const query = new URLSearchParams({ ...limits, format });
    return html`<a role="button" class="outline secondary" href="${path}/export?${query.toString()}" download>${text}</a>`;
  };
  const csv = `${path}/export?${new URLSearchParams({ ...limits, format: 'csv' }).toString()}`;
  const signed = html` <a role="button" class="outline secondary" href="${signedPath(csv)}" download>Export with manifest</a>`;
  const report = html`<a role="button" class="outline" href="${path}/report">Out of the ordinary</a>`;
  return html`<div class="actions">${workspace !== INSTALLATION && report} ${link('csv', 'Export as CSV')} ${link('ndjson', 'Export as NDJSON')}${workspace !== INSTALLATION && signed}</div>`;
}

/** Returns the links to newer and older entries, or says why there are none. */
function older(req: Request, { next_page_token: token, items, lookedBackTo }: AuditPage): Html {
  const isShort = token !== null && items.length < ENTRIES_A_PAGE && lookedBackTo !== null;
  const nothing = req.query.page_token === undefined ? 'No entries match.' : 'There is nothing older.';
  return html`${items.length === 0 && token === null && empty(nothing)}
${isShort && html`<p class="muted">Searched back to ${time(lookedBackTo)}.</p>`}
${pageLinks(req, { token, isShort })}`;
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
