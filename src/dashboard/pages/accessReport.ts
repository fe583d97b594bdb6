import { Readable } from 'node:stream';
import type { Principal } from '../../domain/events/event.ts';
import {
  type AccessReason,
  judgeRow,
  monthBefore,
  type ReportPorts,
  type ReportRow,
  reportLines,
  reportOf,
} from '../../modules/audit/accessReport.ts';
import { type AccessReview, setVip } from '../../modules/audit/accessReview.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { readRuleSettings } from '../../modules/readiness/rules/rule.ts';
import { formError, input } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  html,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  trailReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { filledQuery } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { bdi, empty, time } from '../components/text.ts';
import { recordPath, signedPath } from '../components/urls.ts';

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
    { ...post, path: `${path}/vip`, roles: admins, handle: (visit) => changeVip(ports, visit) },
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

async function reportPage(ports: ReportPorts, visit: Visit): Promise<Reply> {
  const { workspace } = visit;
  let read: Awaited<ReturnType<typeof readReport>>;
  try {
    read = await readReport(ports, visit);
  } catch (error) {
    const refusal = problemOf(error);
    const sent = String(filledQuery(visit.req).month ?? '');
    const body = html`<h1>${TITLE}</h1>${monthForm(workspace, sent, refusal)}`;
    return { page: { title: TITLE, section, status: refusal.status, body } };
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
    ? `Office hours: ${hours.days.join(', ')}, ${hours.from} to ${hours.to}.`
    : 'No office hours are set.';
  const isCut = count > shown.length;
  const body = html`${breadcrumb([{ text: section, path: `/workspaces/${workspace}/audit` }])}
<div class="page-head"><h1>${TITLE}</h1>
<div class="actions"><a role="button" class="outline secondary" href="/dashboard${addressOf(workspace, '/export')}?month=${month}" download>Export as CSV</a>
<a role="button" class="outline secondary" href="${signedPath(`/dashboard${addressOf(workspace, '/export')}?month=${month}`)}" download>Export with manifest</a></div></div>
<p class="muted">A list to judge: each row is a question, not a finding, and blocks nobody. Days are those of ${timeZone}. ${hoursText}</p>
${monthForm(workspace, month)}
${count === 0 ? empty('No access was out of the ordinary.') : table(TITLE, columns(ports, visit, month, review), shown)}
${isCut && html`<p>The first ${shown.length} of ${count.toLocaleString('en-US')} rows. The file has all.</p>`}
<h2>VIPs</h2>
<p class="muted">Access to the records of these patients is in the report. The mark is no field of the record.</p>
${vipList(ports, visit, review)}`;
  return { page: { title: TITLE, section, body } };
}

function monthForm(workspace: string, month: string, refusal?: Refusal): Html {
  return html`${formError(refusal?.text)}<form method="get" action="/dashboard${addressOf(workspace)}">
${input({ name: 'month', label: 'Month', value: month, placeholder: '2026-03', error: refusal?.details[0]?.message })}
<div class="actions"><button type="submit" class="outline">Show</button></div></form>`;
}

function columns(
  { names }: ReportPorts,
  { workspace, csrf }: Visit,
  month: string,
  { judgments }: AccessReview,
): TableColumn<ReportRow>[] {
  return [
    {
      title: 'Why',
      isHeader: true,
      cell: ({ reason, stated }) =>
        html`${reasonTexts[reason]}${stated && html`<br><small>${bdi(stated)}</small>`}`,
    },
    {
      title: 'Who',
      cell: ({ principal }) => who({ ...principal, name: names.nameOf(principal) ?? null }),
    },
    { title: 'Whom', cell: (row) => whom(workspace, row) },
    {
      title: 'When',
      cell: ({ from, to }) => html`${time(from)}${to !== from && html`<br>to ${time(to)}`}`,
    },
    { title: 'Count', cell: (row) => countLink(workspace, row) },
    {
      title: 'Judgment',
      cell({ id }) {
        const known = judgments.get(id);
        const by = known && (names.nameOf(known.by) ?? known.by.id);
        return html`${known && html`${bdi(known.note)}<br><small class="muted">${by}, ${time(known.at)}</small>`}
<details><summary>${known ? 'Change' : 'Judge'}</summary><form method="post" action="/dashboard${addressOf(workspace, '/judge')}">${csrf}
<input type="hidden" name="month" value="${month}"><input type="hidden" name="row" value="${id}">
<input name="note" type="text" required maxlength="1000" autocomplete="off" aria-label="Judgment" placeholder="In order">
<button type="submit" class="outline">Save</button></form></details>`;
      },
    },
  ];
}

function whom(workspace: string, { kind, record_id: id }: ReportRow): Html {
  if (kind === undefined || id === undefined) return html``;
  return html`${titleOf(kind)} <a href="/dashboard${recordPath(workspace, kind, id)}">${bdi(id)}</a>`;
}

/** Returns the number of accesses, or of records, with a link to the entries of that time in the trail. */
function countLink(workspace: string, { principal, from, to, count, usual }: ReportRow): Html {
  const until = new Date(Date.parse(to) + 1).toISOString();
  const limits = new URLSearchParams({ principal: principal.id, from, to: until }).toString();
  return html`<a href="/dashboard/workspaces/${workspace}/audit?${limits}">${count.toLocaleString('en-US')}</a>${
    usual !== undefined && html`<br><small class="muted">usually ${usual.toLocaleString('en-US')}</small>`
  }`;
}

type Vip = [id: string, mark: { at: string; by: Principal }];

function vipList({ names }: ReportPorts, { workspace, may, csrf }: Visit, { vips }: AccessReview): Html {
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
      cell: ([id]) => html`<a href="/dashboard${recordPath(workspace, 'patient', id)}">${bdi(id)}</a>`,
    },
    { title: 'Marked', cell: ([, { at, by }]) => html`${time(at)}, ${names.nameOf(by) ?? by.id}` },
    ...(may(admins) ? [remove] : []),
  ];
  return html`${vips.size === 0 ? empty('No patient is marked as VIP.') : table('VIPs', all, [...vips])}
${
  may(admins) &&
  html`<form method="post" action="${action}">${csrf}
${input({ name: 'patient', label: 'Patient ID', isRequired: true, autocomplete: 'off' })}
<div class="actions"><button type="submit" class="outline">Mark as VIP</button></div></form>`
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
  await setVip(ports, caller, isMarked ? textOf(form, 'patient') : removed, isMarked);
  notice(isMarked ? 'The patient is marked as VIP.' : 'The mark is removed.');
  return { redirect: addressOf(workspace) };
}
