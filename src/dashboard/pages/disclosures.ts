import { Readable } from 'node:stream';
import type { Request } from 'express';
import { z } from 'zod';
import { pathId } from '../../api/schemas/parameters.ts';
import { recordStream } from '../../domain/events/streams.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import {
  type ReportFormat,
  reportFormats,
  reportText,
  whatText,
} from '../../modules/audit/disclosureFormats.ts';
import {
  type Disclosure,
  type DisclosureForm,
  type DisclosurePage,
  type DisclosurePorts,
  type DisclosureQuery,
  type DisclosureStatus,
  disclosureForms,
  readDisclosures,
  reportDisclosures,
} from '../../modules/audit/disclosures.ts';
import { recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { type QueryPorts, type RecordView, readRecord } from '../../modules/records/queries/records.ts';
import type { WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import { ServiceError } from '../../platform/errors.ts';
import { checkboxes, filterForm, messageOf } from '../components/forms.ts';
import { dropdown } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { principalTexts } from '../components/people.ts';
import { dayOf } from '../components/records.ts';
import { filledQuery, recordCrumbs, recordsSection, textsOf } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { badge, bdi, code, empty, idBeside, time } from '../components/text.ts';
import { momentInputs, shownMoment, zoneParameter } from '../components/time.ts';
import { disclosuresPath } from '../components/urls.ts';
import {
  describedText,
  explanation,
  formTitles,
  meansText,
  paperTable,
  purpose,
  recipient,
  reportRows,
  when,
} from './disclosuresPaper.ts';
import { fileHeader, paperHead } from './records/auditorFile.ts';
import { evidenceFooter, type FooterPorts } from './records/evidenceFooter.ts';
import { readHead } from './records/head.ts';
import { readNames } from './records/shared.ts';

const moment = requiredDate('2026-03-14T12:00').optional();
const yes = z.literal('yes').optional();

const querySchema = z.object({
  form: z.enum(disclosureForms).default('access_report'),
  from: moment,
  to: moment,
  omit_exempt: yes,
  page_token: z.string().optional(),
});

const exportSchema = querySchema.extend({ format: z.enum([...reportFormats, 'auditor']), summary: yes });

/** The names of the parameters of a disclosures page, and of those of its download. */
const disclosureParameters: readonly string[] = [...Object.keys(querySchema.shape), zoneParameter];
const exportParameters: readonly string[] = Object.keys(exportSchema.shape);

/** Returns the query in a page's address; times without an offset are in UTC. Throws `validation_failed`. */
function disclosureQuery(req: Request, patientId: string) {
  const { page_token, ...query } = validate(querySchema, filledQuery(req));
  return { query: toQuery(query, patientId), pageToken: page_token, limits: limitsOf(query) };
}

/** Returns the query of a download. Throws `validation_failed`. */
function exportQuery(req: Request, patientId: string) {
  const { format, summary, ...query } = validate(exportSchema, filledQuery(req));
  return { query: toQuery(query, patientId), format, isSummary: summary === 'yes' };
}

type Sent = Omit<z.infer<typeof querySchema>, 'page_token'>;

function toQuery({ form, from, to, omit_exempt }: Sent, patientId: string): DisclosureQuery {
  const instant = (sent: string | undefined) => sent && new Date(instantOf(sent)).toISOString();
  return { patientId, form, from: instant(from), to: instant(to), omitExempt: omit_exempt === 'yes' };
}

/** Returns what limits the report, as sent: for links. */
function limitsOf({ form, from, to, omit_exempt }: Sent): Record<string, string> {
  return { form, ...(from && { from }), ...(to && { to }), ...(omit_exempt && { omit_exempt }) };
}

/** Returns the form that limits a report; `sent` are the limits as sent. */
function disclosureFilter(
  path: string,
  form: DisclosureForm,
  sent: Record<string, string>,
  refusal?: Refusal,
): Html {
  const moment = (name: string, label: string) => ({
    ...{ name, label, step: 1, value: shownMoment(sent[name]) },
    error: messageOf(refusal?.details, name),
  });
  return filterForm({
    path: `${path}?form=${form}`,
    limits: { ...sent, form: undefined },
    refusal,
    fields: html`<input type="hidden" name="form" value="${form}">
${momentInputs(moment('from', 'From'), moment('to', 'Before'))}
${
  form === 'accounting' &&
  checkboxes('omit_exempt', 'Exempt disclosures', [
    { value: 'yes', text: 'Leave out', isChecked: sent.omit_exempt === 'yes' },
  ])
}`,
  });
}

const statusTexts: Record<DisclosureStatus, [text: string, tone: 'good' | 'bad' | 'neutral']> = {
  accountable: ['accountable', 'bad'],
  purpose_not_given: ['purpose not given', 'bad'],
  exempt: ['exempt', 'good'],
  internal_use: ['internal use', 'neutral'],
  deidentified: ['de-identified', 'neutral'],
};

/** Returns disclosures, or accesses, as a page shows them. */
function disclosureTable(
  { webhookDirectory }: SeenPorts,
  form: DisclosureForm,
  items: readonly Disclosure[],
  path: string,
  dayOf: DayOf,
): Html {
  const title = form === 'accounting' ? 'Disclosures, newest first' : 'Accesses, newest first';
  const status = statusColumn(path);
  const by = (heading: string) => discloser(heading, webhookDirectory);
  const columns =
    form === 'accounting'
      ? [when, recipient, what(dayOf), purpose, status, by('Via')]
      : [when, by('Who'), what(dayOf), recipient, purpose, status];
  return html`<div class="wide-text">${table(title, columns, items)}</div>`;
}

/** Returns the day of an encounter, which people know it by; undefined where it is not known. */
type DayOf = (encounterId: string) => string | undefined;

/** Things that a row names; all are named on request. */
const MOST_NAMED = 3;

function what(dayOf: DayOf): TableColumn<Disclosure> {
  return {
    title: 'What',
    cell: (disclosure) => html`${describedText(disclosure)}<br>${namedThings(disclosure, dayOf)}`,
  };
}

function namedThings(disclosure: Disclosure, dayOf: DayOf): Html {
  const { what: things, what_more } = disclosure;
  const means = meansText(disclosure);
  const all = whatText(disclosure, dayOf);
  const others = things.length - MOST_NAMED;
  if (others <= 1) return html`<small class="muted">${means}: ${bdi(all)}</small>`;
  const first = whatText({ what: things.slice(0, MOST_NAMED), what_more: what_more + others }, dayOf);
  return html`<details class="further muted"><summary>${means}: ${bdi(first)}</summary>${bdi(all)}</details>`;
}

/** Resolves with the days of the encounters that a report names; that they are shown is recorded. */
async function readDays(
  ports: SeenPorts,
  { workspace, caller }: Visit,
  items: readonly Disclosure[],
): Promise<DayOf> {
  const things = items.flatMap((item) => item.what.filter(({ kind }) => kind !== patient.kind));
  const named = [...new Set(things.map(({ id }) => id))].map((id) => ({ kind: encounter.kind, id }));
  const { names, accesses } = await readNames(ports, workspace, named);
  for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
  return (id) => dayOf(names, id);
}

/** `path`: of the report. */
function statusColumn(path: string): TableColumn<Disclosure> {
  return {
    title: 'Under 45 CFR 164.528',
    cell: ({ status, exemption, event_id }) => {
      const [text, tone] = statusTexts[status];
      const isOpen = status === 'purpose_not_given';
      return html`${badge(text, tone)}${exemption && html` <small>${exemption}</small>`}${
        isOpen && html` <a class="nowrap" href="${path}/${event_id}/purpose">State purpose</a>`
      }`;
    },
  };
}

/** Who it was; of a webhook, where it leads. */
function discloser(title: string, webhooks: SeenPorts['webhookDirectory']): TableColumn<Disclosure> {
  return {
    title,
    cell: ({ principal, webhook_id, client_ip }) =>
      webhook_id === null || principal.type !== 'service'
        ? html`${bdi(principal.name ?? principal.id)} <small class="muted">${principalTexts[principal.type]}${client_ip && html`, ${client_ip}`}</small>`
        : html`Webhook ${bdi(webhooks.find(webhook_id)?.url ?? '')} ${idBeside(webhook_id)}`,
  };
}

const SHOWN_A_PAGE = 50;
const PRINTED_A_PAGE = 1_000;

const mediaTypes: Record<ReportFormat, string> = { csv: 'text/csv; charset=utf-8', json: 'application/json' };

interface SeenPorts extends DisclosurePorts, FooterPorts {
  webhookDirectory: WebhookDirectory;
}

/** `…/records/patients/{id}/disclosures`: to whom a patient's data went; pages, printed or downloaded. */
export function disclosureRoutes(ports: SeenPorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/patients/:id/disclosures';
  const route = (suffix: string, query: readonly string[], handle: (visit: Visit) => Promise<Reply>) =>
    ({ method: 'get', path: path + suffix, roles: phiReaders, query, handle }) as const;
  return [
    route('', disclosureParameters, async (visit) => ({ page: await reportPage(ports, visit) })),
    route('/print', disclosureParameters, async (visit) => ({ page: await printedPage(ports, visit) })),
    { ...route('/export', exportParameters, (visit) => download(ports, visit)), report: 'disclosures' },
  ];
}

const patientIdOf = ({ req }: Visit) => pathId(req, 'id', patient.title);
/** The full path of the report. */
const disclosuresOf = (visit: Visit) => `/dashboard${disclosuresPath(visit.workspace, patientIdOf(visit))}`;

async function reportPage(ports: SeenPorts, visit: Visit): Promise<Page> {
  const { req, caller } = visit;
  let asked: ReturnType<typeof disclosureQuery>;
  try {
    asked = disclosureQuery(req, patientIdOf(visit));
  } catch (error) {
    const sent = textsOf({ query: filledQuery(req) });
    return framed(
      ports,
      visit,
      sent.form === 'accounting' ? 'accounting' : 'access_report',
      sent,
      html``,
      problemOf(error),
    );
  }
  const { query, pageToken, limits } = asked;
  const found = await readDisclosures(ports, caller, query, { limit: SHOWN_A_PAGE, pageToken });
  const dayOf = await readDays(ports, visit, found.items);
  const body = html`${period(found.query)}
${listed(found, pageToken === undefined, (items) => disclosureTable(ports, query.form, items, disclosuresOf(visit), dayOf))}
${further(req, found, SHOWN_A_PAGE)}`;
  return framed(ports, visit, query.form, limits, body);
}

/** Returns the page with the links to both forms and the filter above its body. */
async function framed(
  ports: SeenPorts,
  visit: Visit,
  form: DisclosureForm,
  sent: Record<string, string>,
  body: Html,
  refusal?: Refusal,
): Promise<Page> {
  const id = patientIdOf(visit);
  const path = disclosuresOf(visit);
  const top = await headOf(ports, visit, id);
  return {
    title: formTitles[form],
    section: recordsSection,
    ...(refusal && { status: refusal.status }),
    body: html`${top}
<h2 class="visually-hidden">${formTitles[form]}</h2>
<div class="page-head"><nav class="tabs" aria-label="Reports"><ul>${disclosureForms.map(
      (one) =>
        html`<li><a href="${path}?form=${one}"${one === form && html` aria-current="page"`}>${formTitles[one]}</a></li>`,
    )}</ul></nav>${!refusal && links(path, form, sent)}</div>
${explanation(form)}
${disclosureFilter(path, form, sent, refusal)}
${body}`,
  };
}

/** Resolves with the patient; `undefined` for one that was erased, or never existed: reports cover those, too. */
async function patientOf(ports: QueryPorts, workspace: string, id: string): Promise<RecordView | undefined> {
  try {
    return await readRecord(ports, workspace, patient, id);
  } catch (error) {
    if (error instanceof ServiceError && ['gone', 'not_found'].includes(error.code)) return undefined;
    throw error;
  }
}

/** The same, where the name is shown on paper or in a file; the access is recorded. */
async function recordedPatient(ports: SeenPorts, { workspace, caller }: Visit, id: string) {
  const view = await patientOf(ports, workspace, id);
  if (view)
    await recordFurtherAccess(ports.eventLog, caller, {
      action: 'record.read',
      kind: patient.kind,
      record_id: id,
    });
  return view;
}

/** Resolves with the top of the page; of an erased patient only the id is left. */
async function headOf(ports: SeenPorts, visit: Visit, id: string): Promise<Html> {
  const { workspace, caller } = visit;
  const view = await patientOf(ports, workspace, id);
  if (view === undefined) {
    return html`${recordCrumbs(workspace, patient)}
<h1>${patient.title}</h1>
<p class="record-facts"><span>ID ${code(id)}</span></p>`;
  }
  const { head, accesses } = await readHead(ports, visit, patient, view, 'seen');
  const read = { action: 'record.read', kind: patient.kind, record_id: id } as const;
  // The report has the id of the request.
  for (const access of [read, ...accesses]) await recordFurtherAccess(ports.eventLog, caller, access);
  return head;
}

function links(path: string, form: DisclosureForm, limits: Record<string, string>): Html {
  const link = (suffix: string, more: Record<string, string>, text: string) => {
    const query = new URLSearchParams({ ...limits, form, ...more });
    const isFile = suffix === '/export';
    return html`<a role="button" class="outline secondary" href="${path}${suffix}?${query.toString()}"${isFile && html` download`}>${text}</a>`;
  };
  return html`<div class="actions">${link('/export', { format: 'auditor' }, 'Export for the auditor')}
${link('/print', {}, 'Print or save as PDF')}
<a role="button" class="outline secondary" href="${path}/add">Add a disclosure</a>
${dropdown('More formats', [
  link('/export', { format: 'csv' }, 'Export as CSV'),
  link('/export', { format: 'json' }, 'Export as JSON'),
  link('/export', { format: 'csv', signed: 'yes' }, 'Export with manifest'),
  ...(form === 'accounting' ? [link('/export', { format: 'csv', summary: 'yes' }, 'Summary as CSV')] : []),
])}</div>`;
}

async function printedPage(ports: SeenPorts, visit: Visit): Promise<Page> {
  const { req, caller, workspace } = visit;
  const id = patientIdOf(visit);
  const { query, pageToken, limits } = disclosureQuery(req, id);
  const found = await readDisclosures(ports, caller, query, { limit: PRINTED_A_PAGE, pageToken });
  const { form } = query;
  const view = await recordedPatient(ports, visit, id);
  const back = `${disclosuresPath(workspace, id)}?${new URLSearchParams(limits).toString()}`;
  return {
    title: `${formTitles[form]}, printable`,
    section: recordsSection,
    body: html`<div class="paper">
${paperHead(visit, { title: formTitles[form], back, entry: patient, view, id, rows: reportRows(found.query, found.head) })}
${explanation(form)}
${listed(found, pageToken === undefined, (items) => paperTable(form, items))}
${further(req, found, PRINTED_A_PAGE)}
${await evidenceFooter(ports, recordStream(workspace, patient.kind, id))}
</div>`,
  };
}

function listed(
  { items, next_page_token }: DisclosurePage,
  isNewest: boolean,
  show: (items: readonly Disclosure[]) => Html,
): Html {
  if (items.length > 0) return show(items);
  if (next_page_token !== null) return html``;
  return empty(isNewest ? 'None in this period. Try a longer one.' : 'Nothing older.');
}

/** Returns the links to other pages, and says how far an incomplete report goes. */
function further(
  req: Request,
  { next_page_token: token, lookedBackTo, items }: DisclosurePage,
  limit: number,
): Html {
  const isShort = items.length < limit && lookedBackTo !== null;
  return html`${
    token !== null &&
    html`<p class="muted">Earlier entries may exist that are not on this page.${isShort && html` Searched back to ${time(lookedBackTo)}.`}</p>`
  }
${pageLinks(req, { token, isShort })}`;
}

function period(query: DisclosureQuery): Html {
  return html`<p class="muted">Period: ${periodText(query)}.</p>`;
}

function periodText({ from, to }: DisclosureQuery): Html {
  return html`${from ? html`from ${time(from)}` : 'from the beginning'}${to ? html`, before ${time(to)}` : ' until now'}`;
}

async function download(ports: SeenPorts, visit: Visit): Promise<Reply> {
  const { req, caller, workspace } = visit;
  const id = patientIdOf(visit);
  const { query, format: asked, isSummary } = exportQuery(req, id);
  const format: ReportFormat = asked === 'json' ? 'json' : 'csv';
  const how = { format, ...(isSummary && { summary: true }) };
  const report = await reportDisclosures(ports, caller, query, how);
  const today = new Date().toISOString().slice(0, 10);
  const name = `${query.form.replace('_', '-')}${isSummary ? '-summary' : ''}-${workspace}-${today}.${format}`;
  let header = '';
  if (asked === 'auditor') {
    const view = await recordedPatient(ports, visit, id);
    const rows = reportRows(report.query, report.head, true);
    header = fileHeader(visit, { title: formTitles[query.form], entry: patient, view, id, rows });
  }
  const text = reportText(workspace, report, format, isSummary);
  return { download: { type: mediaTypes[format], name, body: Readable.from(withHeader(header, text)) } };
}

async function* withHeader(header: string, text: AsyncIterable<string>): AsyncGenerator<string> {
  if (header !== '') yield header;
  yield* text;
}
