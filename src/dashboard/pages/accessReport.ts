import { Readable } from 'node:stream';
import type { Principal } from '../../domain/events/event.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import {
  type AccessReason,
  judgeRow,
  monthBefore,
  type ReportPorts,
  type ReportRow,
  reportLines,
  reportOf,
} from '../../modules/audit/accessReport.ts';
import { type AccessReview, type Judgment, setVip } from '../../modules/audit/accessReview.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { readRuleSettings } from '../../modules/readiness/rules/rule.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import { formError, input, messageOf, select } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  html,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  trailReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { namedLink } from '../components/records.ts';
import { filledQuery } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { bdi, empty, time } from '../components/text.ts';
import { signedPath } from '../components/urls.ts';
import { readNames } from './records/shared.ts';

const section = 'Audit trail';
const TITLE = 'Access out of the ordinary';
const path = '/workspaces/:workspace/audit/report';
/** Rows that a page shows; the file has all. */
const ROWS_SHOWN = 200;

const reasonTexts: Record<AccessReason, string> = {
  break_glass: 'Opened with a reason, without the right',
  vip: 'VIP',
  same_family_name: 'Same family name',
  more_than_usual: 'More records than usual',
  after_hours: 'Outside office hours',
};

/** `…/audit/report`: access out of the ordinary in a month, to be judged, and the patients who are marked as VIP. */
export function accessReportRoutes(ports: ReportPorts): DashboardRoute[] {
  const get = { method: 'get', roles: trailReaders, query: ['month'] } as const;
  const post = { method: 'post', page: path } as const;
  return [
    { ...get, path, handle: (visit) => reportPage(ports, visit) },
    { ...get, path: `${path}/export`, report: 'access', handle: (visit) => exportReport(ports, visit) },
    { ...post, path: `${path}/judge`, roles: trailReaders, handle: (visit) => judge(ports, visit) },
    { ...post, path: `${path}/vip`, page: path, roles: admins, handle: (visit) => changeVip(ports, visit) },
  ];
}

function addressOf(workspace: string, suffix = ''): string {
  return `/workspaces/${workspace}/audit/report${suffix}`;
}

/** Reads the report of the month that was asked for, by default the last one that is over, and enters that in the audit trail. */
async function readReport(ports: ReportPorts, visit: Visit, more: { format?: 'csv' } = {}) {
  const { workspace, caller, req } = visit;
  const lastMonth = async () => {
    const { timeZone } = await readRuleSettings(ports.eventLog, workspace);
    return monthBefore(Date.now(), timeZone);
  };
  const month = String(filledQuery(req).month ?? (await lastMonth()));
  const report = await reportOf(ports, workspace, month);
  await recordAccess(ports.eventLog, caller, { action: 'audit.report', query: { month, ...more } });
  return { month, report };
}

/** `refusal` is why a patient was not marked. */
async function reportPage(ports: ReportPorts, visit: Visit, refusal?: Refusal): Promise<Reply> {
  const { workspace } = visit;
  let read: Awaited<ReturnType<typeof readReport>>;
  try {
    read = await readReport(ports, visit);
  } catch (error) {
    const refused = problemOf(error);
    const sent = String(filledQuery(visit.req).month ?? '');
    const body = html`<h1>${TITLE}</h1>${monthForm(workspace, sent, refused)}`;
    return { page: { title: TITLE, section, status: refused.status, body } };
  }
  const { month, report } = read;
  const { review, timeZone, rows } = report;
  const shown: ReportRow[] = [];
  let count = 0;
  for await (const some of rows) {
    shown.push(...some.slice(0, ROWS_SHOWN - shown.length));
    count += some.length;
  }
  await ports.names.learn([...review.judgments.values(), ...review.vips.values()].map(({ by }) => by));
  const hours = ports.directory.known.workspaces.get(workspace)?.officeHours;
  const hoursText = hours
    ? `Office hours: ${hours.days.map(titleOf).join(', ')}, ${hours.from} to ${hours.to}.`
    : 'No office hours are set.';
  const isCut = count > shown.length;
  const names = await readPatientNames(ports, visit, shown, review);
  const body = html`${breadcrumb([{ text: section, path: `/workspaces/${workspace}/audit` }])}
<div class="page-head"><h1>${TITLE}</h1>
<div class="actions"><a role="button" class="outline secondary" href="/dashboard${addressOf(workspace, '/export')}?month=${month}" download>Export as CSV</a>
<a role="button" class="outline secondary" href="${signedPath(`/dashboard${addressOf(workspace, '/export')}?month=${month}`)}" download>Export with manifest</a></div></div>
<p class="muted">A list to judge: each row is a question, not a finding, and blocks nobody. Days are those of ${timeZone}. ${hoursText}</p>
${monthForm(workspace, month)}
${count === 0 ? empty('No access was out of the ordinary.') : html`<div class="dense">${table(TITLE, columns(ports, visit, month, review, names), shown)}</div>`}
${isCut && html`<p>The first ${shown.length} of ${count.toLocaleString('en-US')} rows. The file has all.</p>`}
<h2>VIPs</h2>
<p class="muted">Access to the records of these patients is in the report. The mark is no field of the record.</p>
${vipList(ports, visit, review, names, refusal)}`;
  return { page: { title: TITLE, section, body, ...(refusal && { status: refusal.status }) } };
}

/** Resolves with the names of what rows and marks are about, for those who may see them; that they are shown is recorded. */
async function readPatientNames(
  ports: ReportPorts,
  { workspace, caller, may }: Visit,
  rows: readonly ReportRow[],
  { vips }: AccessReview,
): Promise<RecordNames | undefined> {
  if (!may(phiReaders)) return undefined;
  const named = rows.flatMap(({ kind, record_id: id }) => (kind && id ? [{ kind, id }] : []));
  const patients = [...vips.keys()].map((id) => ({ kind: patient.kind, id }));
  const { names, accesses } = await readNames(ports, workspace, [...named, ...patients]);
  for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
  return names;
}

/** Months that the form offers; any other can be in the address. */
const MONTHS_OFFERED = 13;

const monthFormat = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', year: 'numeric', month: 'long' });

function monthForm(workspace: string, month: string, refusal?: Refusal): Html {
  const [year, number] = new Date().toISOString().split('-').map(Number) as [number, number];
  const offered = Array.from({ length: MONTHS_OFFERED }, (_, past) =>
    new Date(Date.UTC(year, number - 1 - past)).toISOString().slice(0, 7),
  );
  const months = refusal || offered.includes(month) ? offered : [month, ...offered];
  const options = months.map((value) => ({ value, text: monthFormat.format(Date.parse(value)) }));
  return html`${formError(refusal)}<form method="get" action="/dashboard${addressOf(workspace)}" class="moment no-print">
<div class="line">${select({ name: 'month', label: 'Month', value: month, options, error: refusal?.details[0]?.message })}<button type="submit" class="outline">Show</button></div></form>`;
}

function columns(
  { names }: ReportPorts,
  { workspace, csrf }: Visit,
  month: string,
  { judgments }: AccessReview,
  recordNames: RecordNames | undefined,
): TableColumn<ReportRow>[] {
  return [
    {
      title: 'Why',
      isHeader: true,
      cell: ({ reason, stated }) =>
        html`${reasonTexts[reason]}${stated && html` <small title="${stated}">${bdi(stated)}</small>`}`,
    },
    {
      title: 'Who',
      cell: ({ principal }) => who({ ...principal, name: names.nameOf(principal) ?? null }),
    },
    { title: 'Whose record', cell: (row) => whose(workspace, row, recordNames) },
    {
      title: 'When',
      cell: ({ from, to }) => html`${time(from)}${to !== from && html` to ${time(to)}`}`,
    },
    { title: 'Count', cell: (row) => countLink(workspace, row) },
    {
      title: 'Judgment',
      cell({ id }) {
        const known = judgments.get(id);
        const by = ({ by }: Judgment) => names.nameOf(by) ?? by.id;
        return html`${known && html`${bdi(known.note)} <small class="muted">${bdi(by(known))}, ${time(known.at)}</small>`}
<details><summary>${known ? 'Change' : 'Judge'}</summary><form method="post" action="/dashboard${addressOf(workspace, '/judge')}">${csrf}
<input type="hidden" name="month" value="${month}"><input type="hidden" name="row" value="${id}">
<input name="note" type="text" required maxlength="1000" autocomplete="off" aria-label="Judgment" placeholder="In order">
<button type="submit" class="outline">Save</button></form></details>`;
      },
    },
  ];
}

function whose(
  workspace: string,
  { kind, record_id: id }: ReportRow,
  names: RecordNames | undefined,
): Html | undefined {
  if (kind === undefined || id === undefined) return undefined;
  return html`${titleOf(kind)} ${namedLink(workspace, kind, id, names?.nameOf(kind, id))}`;
}

/** Returns the number of accesses, or of records, with a link to the entries of that time in the trail. */
function countLink(workspace: string, { principal, from, to, count, usual }: ReportRow): Html {
  const until = new Date(Date.parse(to) + 1).toISOString();
  const limits = new URLSearchParams({ principal: principal.id, from, to: until }).toString();
  return html`<a href="/dashboard/workspaces/${workspace}/audit?${limits}">${count.toLocaleString('en-US')}</a>${
    usual !== undefined && html` <small class="muted">usually ${usual.toLocaleString('en-US')}</small>`
  }`;
}

type Vip = [id: string, mark: { at: string; by: Principal }];

function vipList(
  { names }: ReportPorts,
  { workspace, may, csrf, form }: Visit,
  { vips }: AccessReview,
  recordNames: RecordNames | undefined,
  refusal?: Refusal,
): Html {
  const action = `/dashboard${addressOf(workspace, '/vip')}`;
  const remove: TableColumn<Vip> = {
    title: 'Actions',
    isTitleHidden: true,
    cell: ([id]) =>
      html`<form method="post" action="${action}">${csrf}<input type="hidden" name="remove" value="${id}"><button type="submit" class="link-button" aria-label="Remove the mark of ${id}">Remove</button></form>`,
  };
  const all: TableColumn<Vip>[] = [
    {
      title: 'Patient',
      isHeader: true,
      cell: ([id]) => namedLink(workspace, patient.kind, id, recordNames?.nameOf(patient.kind, id)),
    },
    {
      title: 'Marked',
      cell: ([, { at, by }]) => html`${time(at)} by ${who({ ...by, name: names.nameOf(by) ?? null })}`,
    },
    ...(may(admins) ? [remove] : []),
  ];
  return html`${vips.size === 0 ? empty('No patient is marked as VIP.') : table('VIPs', all, [...vips])}
${
  may(admins) &&
  html`${formError(refusal)}<form method="post" action="${action}" class="moment">${csrf}
<div class="line">${input({ name: 'patient', label: 'Patient ID', value: textOf(form, 'patient'), error: messageOf(refusal?.details, 'patient'), isRequired: true, autocomplete: 'off' })}<button type="submit" class="outline">Mark as VIP</button></div></form>`
}`;
}

async function exportReport(ports: ReportPorts, visit: Visit): Promise<Reply> {
  const { month, report } = await readReport(ports, visit, { format: 'csv' });
  const body = Readable.from(reportLines(report, ports.names, 'csv'));
  const name = `access-${visit.workspace}-${month}.csv`;
  return { download: { type: 'text/csv; charset=utf-8', name, body } };
}

async function judge(ports: ReportPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, form, notice } = visit;
  const row = { month: textOf(form, 'month'), id: textOf(form, 'row') };
  await judgeRow(ports, caller, row, textOf(form, 'note'));
  notice('The judgment is recorded.');
  return { redirect: `${addressOf(workspace)}?month=${row.month}` };
}

async function changeVip(ports: ReportPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, form, notice } = visit;
  const removed = textOf(form, 'remove');
  const isMarked = removed === '';
  try {
    await setVip(ports, caller, isMarked ? textOf(form, 'patient') : removed, isMarked);
  } catch (error) {
    const { status } = problemOf(error, ['not_found']);
    const details = [{ field: 'patient', message: 'There is no patient with this ID.' }];
    return reportPage(ports, visit, { status, text: undefined, details });
  }
  notice(isMarked ? 'The patient is marked as VIP.' : 'The mark is removed.');
  return { redirect: addressOf(workspace) };
}
