import { Readable } from 'node:stream';
import type { AppPorts } from '../../../api/routes/index.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { Job } from '../../../modules/jobs.ts';
import type { Analyses, ScorecardRun } from '../../../modules/readiness/jobs.ts';
import { type RuleSettings, readRuleSettings } from '../../../modules/readiness/rules/rule.ts';
import {
  type Scorecard,
  type ScorecardRow,
  scorecardColumns,
  scorecardLine,
} from '../../../modules/readiness/scorecard.ts';
import { serviceDaysSchema } from '../../../modules/readiness/worklistModel.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import { csvLine } from '../../../platform/csv.ts';
import { notFound } from '../../../platform/errors.ts';
import { defectText } from '../../components/defects.ts';
import { formError, input, messageOf } from '../../components/forms.ts';
import { fieldLabel } from '../../components/labels.ts';
import { breadcrumb } from '../../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  textOf,
  type Visit,
} from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { table } from '../../components/tables.ts';
import { badge, day, empty, ruleTitle, time } from '../../components/text.ts';
import { readinessSection, scorecardPath, signedPath } from '../../components/urls.ts';

const POLL = 'every 2s';

/** Returns the breadcrumb of an analysis's page. */
export function analysisCrumbs(workspace: string): Html {
  return breadcrumb([{ text: readinessSection, path: `/workspaces/${workspace}/readiness` }]);
}

/** A run, with its progress. */
export interface ShownRun {
  run: Job;
  done: number;
  total: number;
  /** Its page. */
  path: string;
  /** What is asked in order to continue an interrupted run; undefined where it starts over. */
  goOn?: Html;
}

/** Returns the status of a run; it refreshes itself where scripts run, until the run has ended. */
export function runStatus({ run, done, total, path, goOn }: ShownRun): Html {
  const { outcome } = run;
  if (outcome === undefined) {
    return html`<div id="run" hx-get="${path}/state" hx-trigger="${POLL}" hx-swap="outerHTML">${progress(done, total, path)}</div>`;
  }
  return html`<div id="run">${outcome !== 'done' && html`<p>${badge('Interrupted', 'bad')} ${whys[outcome]}</p>${goOn}`}</div>`;
}

/** Returns what replaces the status once the run has ended: the findings are on the page. */
export function runEnded(path: string): Html {
  return html`<div id="run"><p role="status">The run has ended. <a href="${path}">Show the result</a></p></div>`;
}

const whys: Record<string, string> = {
  stopped: 'The service stopped.',
  failed: 'A store may have been unavailable; see the service log.',
};

function progress(done: number, total: number, path: string): Html {
  // What is under way is never shown as finished.
  const percent = total === 0 ? 0 : Math.min(99, Math.floor((done / total) * 100));
  const figures = `${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} encounters`;
  return html`<p>${badge('In progress', 'neutral')} ${figures}. <a href="${path}">Reload the page</a> to see the progress; with scripts enabled, it updates automatically.</p>
<progress max="100" value="${percent}" aria-label="Progress in encounters"></progress>`;
}

/** Returns who asked for it, when, and for how many encounters of which days of service. */
export function runFacts(
  { asked_by, started_at, ended_at }: Job,
  { from, to }: { from?: string | undefined; to?: string | undefined },
  names: PrincipalNames,
  encounters?: number,
): Html {
  const days = html`${from ? day(from) : 'the first'} to ${to ? day(to) : 'the last'}`;
  return html`<p class="record-facts"><span>Requested by ${who({ ...asked_by, name: names.nameOf(asked_by) ?? null })}</span>
<span>Started ${time(started_at)}</span>
${ended_at && html`<span>Ended ${time(ended_at)}</span>`}
<span>Dates of service: ${from || to ? days : 'all'}</span>
${encounters !== undefined && html`<span>Encounters: ${figure(encounters)}</span>`}</p>`;
}

type Ports = Pick<AppPorts, 'eventLog' | 'names'> & { analyses: Analyses };

const TITLE = 'Scorecard';

/** `…/readiness/scorecard`: who introduced what kept encounters from being billed. It names no record. */
export function scorecardRoutes(ports: Ports): DashboardRoute[] {
  const path = '/workspaces/:workspace/readiness/scorecard';
  const roles = recordReaders;
  return [
    { method: 'get', path, roles, handle: async (visit) => ({ page: await page(ports, visit) }) },
    {
      ...{ method: 'get', path: `${path}/state`, roles, isBackground: true },
      handle: (visit) => state(ports, visit),
    },
    {
      ...{ method: 'get', path: `${path}/export`, roles, report: 'scorecard' },
      handle: (visit) => file(ports, visit),
    },
    { method: 'post', path, roles, handle: (visit) => start(ports, visit) },
  ];
}

async function page({ eventLog, analyses, names }: Ports, visit: Visit, refusal?: Refusal): Promise<Page> {
  const { workspace, csrf, form } = visit;
  const run = await analyses.scorecards.last(workspace);
  const rows = run?.scorecard?.rows ?? [];
  const rejections = run?.scorecard?.rejections ?? [];
  if (run) await names.learn([run.asked_by, ...[...rows, ...rejections].map(({ principal }) => principal)]);
  const dayField = (name: string, label: string) =>
    input({
      ...{ name, label, type: 'date', value: textOf(form, name) },
      error: messageOf(refusal?.details, name),
    });
  const body = html`${analysisCrumbs(workspace)}
<div class="page-head"><h1>${TITLE}</h1>
<div class="actions">${
    run?.scorecard &&
    html`<a role="button" class="outline secondary" href="${scorecardPath(workspace)}/export" download>Export as CSV</a>
<a role="button" class="outline secondary" href="${signedPath(`${scorecardPath(workspace)}/export`)}" download>Export with manifest</a>`
  }</div></div>
<p>Whose writes introduced the defects that kept encounters from being billed, by field. Use it to talk to the vendor of a system. It covers the whole history of the encounters.</p>
${run && lastRun(workspace, run, names, await readRuleSettings(eventLog, workspace))}
<h2>New scorecard</h2>
${formError(refusal)}
<form method="post" action="${scorecardPath(workspace)}">${csrf}
<div class="filter-fields">${dayField('from', 'Date of service, from')}${dayField('to', 'Date of service, to')}</div>
<div class="actions"><button type="submit">Generate scorecard</button></div></form>`;
  return { title: TITLE, section: readinessSection, body, ...(refusal && { status: refusal.status }) };
}

function lastRun(workspace: string, run: ScorecardRun, names: Ports['names'], settings: RuleSettings): Html {
  const { scorecard } = run;
  return html`${runStatus(shownRun(workspace, run))}
${runFacts(run, run.days, names, run.encounters)}
${scorecard && html`${scorecardTable(scorecard, names, settings)}${rejectionTable(scorecard, names)}`}`;
}

/** Returns what payers and clearinghouses refused; nothing where that is nothing. */
function rejectionTable({ rejections }: Scorecard, names: Ports['names']): Html | undefined {
  if (rejections.length === 0) return undefined;
  return html`<h2>Refused claims</h2>
${table<Scorecard['rejections'][number]>(
  'Refused claims by code',
  [
    {
      title: 'Code',
      isHeader: true,
      cell: ({ source, outcome, code }) =>
        html`${code === '' ? 'none' : code} <small class="muted">${outcome}, ${source}</small>`,
    },
    { title: 'Record', cell: ({ kind }) => catalogEntry(kind).title },
    {
      title: 'Written by',
      cell: ({ principal }) => who({ ...principal, name: names.nameOf(principal) ?? null }),
    },
    { title: 'Claims', isNumber: true, cell: ({ claims }) => figure(claims) },
    { title: 'No rule had found it', isNumber: true, cell: ({ uncaught }) => figure(uncaught) },
  ],
  rejections,
)}`;
}

function scorecardTable(
  { rows, unreadable }: Scorecard,
  names: Ports['names'],
  settings: RuleSettings,
): Html {
  if (rows.length === 0) return empty('No write introduced a defect that the rules find.');
  return html`${unreadable > 0 && html`<p>${figure(unreadable)} encounters cannot be read and are not counted.</p>`}
<div class="flowing">${table<ScorecardRow>(
    'Defects by principal and field',
    [
      {
        title: 'Written by',
        isHeader: true,
        cell: ({ principal }) =>
          html`<span class="nowrap">${who({ ...principal, name: names.nameOf(principal) ?? null })}</span>`,
      },
      {
        title: 'Field',
        cell: ({ kind, field }) => `${catalogEntry(kind).title}: ${fieldLabel(field)}`,
      },
      {
        title: 'Defect',
        cell: ({ rules }) =>
          html`${rules.map((rule, at) => html`${at > 0 && '; '}<span title="${ruleTitle(rule, settings)}">${defectText(rule, settings)}</span>`)}`,
      },
      { title: 'Defects', isNumber: true, cell: ({ defects }) => figure(defects) },
      { title: 'Not fixed yet', isNumber: true, cell: ({ open }) => figure(open) },
      { title: 'Median time to fix', isNumber: true, cell: ({ median_ms }) => durationText(median_ms) },
      {
        title: 'Encounters delayed',
        isNumber: true,
        cell: ({ encounters_delayed }) => figure(encounters_delayed),
      },
    ],
    rows,
  )}</div>
<p class="muted">A defect counts once, no matter how many encounters have it, starting when an encounter was completed with it. Half of the fixed defects took longer than the median. Delayed encounters were completed but could not be billed because of the defect.</p>`;
}

const units = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
  [1_000, 'seconds'],
] as const;

function durationText(ms: number | null): string {
  if (ms === null) return '–';
  const [unit, name] = units.find(([length]) => ms >= 2 * length) ?? [1_000, 'seconds'];
  return `${Math.round(ms / unit).toLocaleString('en-US')} ${name}`;
}

function shownRun(workspace: string, run: ScorecardRun): ShownRun {
  return { run, done: run.encounters, total: run.total, path: scorecardPath(workspace) };
}

async function state({ analyses }: Ports, { workspace }: Visit): Promise<Reply> {
  const run = await analyses.scorecards.last(workspace);
  const isUnderWay = run !== undefined && run.outcome === undefined;
  return {
    fragment: isUnderWay ? runStatus(shownRun(workspace, run)) : runEnded(scorecardPath(workspace)),
  };
}

async function file({ analyses, names }: Ports, { workspace }: Visit): Promise<Reply> {
  const run = await analyses.scorecards.last(workspace);
  if (run?.scorecard === undefined) throw notFound('Scorecard');
  const { rows } = run.scorecard;
  await names.learn(rows.map(({ principal }) => principal));
  const lines = rows.map((row) => {
    const line = scorecardLine(row, names.nameOf(row.principal));
    return csvLine(scorecardColumns.map((column) => line[column]));
  });
  const name = `scorecard-${workspace}-${run.started_at.slice(0, 10)}.csv`;
  const body = Readable.from([csvLine(scorecardColumns), ...lines]);
  return { download: { type: 'text/csv; charset=utf-8', name, body } };
}

async function start(ports: Ports, visit: Visit): Promise<Reply> {
  const { eventLog, analyses } = ports;
  const { workspace, caller, form, notice } = visit;
  try {
    const sent = (name: string) => textOf(form, name) || undefined;
    const days = validate(serviceDaysSchema, { from: sent('from'), to: sent('to') });
    await analyses.scorecards.start(
      workspace,
      caller.principal,
      () => ({ workspace, days, encounters: 0, total: 0 }),
      () => recordAccess(eventLog, caller, { action: 'readiness.scorecard', query: { ...days } }),
    );
  } catch (error) {
    return { page: await page(ports, visit, problemOf(error)) };
  }
  notice('The scorecard is being generated.');
  return { redirect: `/workspaces/${workspace}/readiness/scorecard` };
}

function figure(count: number): string {
  return count.toLocaleString('en-US');
}
