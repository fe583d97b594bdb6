import { Readable } from 'node:stream';
import type { Request } from 'express';
import { z } from 'zod';
import { selectionOf, worklistFilterSchema, worklistOrderSchema } from '../../api/routes/readiness.ts';
import { readinessStates } from '../../domain/events/readinessEvents.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { facility } from '../../domain/records/kinds/facility.ts';
import { payer } from '../../domain/records/kinds/payer.ts';
import { provider } from '../../domain/records/kinds/provider.ts';
import { recordName } from '../../domain/records/schema/kind.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { worklistAccesses } from '../../modules/audit/accesses.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import {
  daysIn,
  isEmpty,
  readTrend,
  type ShownCounts,
  shownCounts,
  type Tally,
} from '../../modules/readiness/counts.ts';
import { rules } from '../../modules/readiness/rules/index.ts';
import { readSince, type Since } from '../../modules/readiness/since.ts';
import {
  readProgress,
  readWorklist,
  requireSelectedRecords,
  type Worklist,
  type WorklistProgress,
  wholeWorklist,
} from '../../modules/readiness/worklist.ts';
import type { WorklistSelection } from '../../modules/readiness/worklistFanOut.ts';
import type { WorklistEntry, WorklistFinding } from '../../modules/readiness/worklistModel.ts';
import { listRecords, type RecordNames } from '../../modules/records/queries/lists.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { csvLine } from '../../platform/csv.ts';
import { unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { barChart, type ChartPoint, lineChart } from '../components/charts.ts';
import { defectText } from '../components/defects.ts';
import {
  filterForm,
  filterPanel,
  formError,
  type InputField,
  input,
  messageOf,
  select,
} from '../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  type Visit,
} from '../components/page.ts';
import { fieldValue } from '../components/records.ts';
import { filledQuery, readinessBadge, textsOf, unlessBehind } from '../components/recordTable.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, code, day, dayText, empty, fieldLabel, timeAgo } from '../components/text.ts';
import {
  readinessSection,
  recordPath,
  scorecardPath,
  simulationPath,
  worklistPath,
} from '../components/urls.ts';
import {
  defectMatrix,
  type MatrixGrouping,
  matrixGroupings,
  namedInMatrix,
  readDefects,
} from './defectMatrix.ts';
import { readNames } from './records/shared.ts';

/** The states by which the worklist can be limited; `any` is all of them. */
const shownStates = ['blocked', 'ready', 'self_pay', 'rejected', 'not_completed', 'voided', 'any'] as const;
export type ShownState = (typeof shownStates)[number];

/** The same for people. */
export const stateTexts: Record<ShownState, string> = {
  blocked: 'Blocked',
  ready: 'Ready',
  self_pay: 'Self-pay',
  rejected: 'Rejected',
  not_completed: 'Not completed',
  voided: 'Void',
  any: 'All',
};

/** People come for what is in the way; `any` shows all. */
const pageSchema = worklistFilterSchema.extend({
  ...worklistOrderSchema.shape,
  state: z.enum(shownStates).default('blocked'),
  by: z.enum(matrixGroupings).default('payer'),
  page_token: z.string().optional(),
});

/** The names of the page's parameters. */
const worklistParameters: readonly string[] = Object.keys(pageSchema.shape);

/** What a page of the worklist is asked for. */
interface WorklistQuery {
  selection: WorklistSelection;
  pageToken: string | undefined;
  /** The columns of the matrix. */
  by: MatrixGrouping;
  /** What limits the list, as in the address, without the page. */
  limits: Record<string, string>;
  /** The same as in the interface, for the audit trail. */
  asked: Record<string, unknown>;
}

/** Returns the query of a page. Throws `validation_failed`. */
function worklistQuery(req: Request): WorklistQuery {
  const { page_token: pageToken, state: shown, by, ...limits } = validate(pageSchema, filledQuery(req));
  const state = shown === 'any' ? undefined : shown;
  return {
    selection: selectionOf({ ...limits, state }),
    pageToken,
    by,
    limits: textsOf({ query: { state: shown, ...limits } }),
    asked: { state, ...limits },
  };
}

/** Returns what a refused query was sent with, for its form. */
function sentLimits(req: Request): Record<string, string> {
  const { page_token: _token, ...sent } = textsOf({ query: filledQuery(req) });
  return sent;
}

const columns = [
  'encounter_id',
  'state',
  'date_of_service',
  'patient_id',
  'patient_name',
  'payer_id',
  'payer_name',
  'facility_id',
  'facility_name',
  'provider_id',
  'provider_name',
  'defect',
  'rule',
  'severity',
  'record_kind',
  'record_id',
  'field',
  'billed_at',
  'claim_id',
  'filing_last_day',
] as const;

/**
 * Resolves with the worklist within the limits of its page as a CSV file: a line for each finding, and one for an
 * encounter without any. What each part shows is recorded before it is sent. Rejects with `unavailable` where the
 * worklist is not current: a file would not reveal that later.
 */
async function exportWorklist(ports: QueryPorts, visit: Visit): Promise<Reply> {
  const { workspace, req } = visit;
  const query = worklistQuery(req);
  await requireSelectedRecords(ports.eventLog, workspace, query.selection);
  const { isCurrent } = await readProgress(ports, workspace);
  if (!isCurrent) throw unavailable('list');
  const today = new Date().toISOString().slice(0, 10);
  return {
    download: {
      type: 'text/csv; charset=utf-8',
      name: `readiness-${workspace}-${today}.csv`,
      body: Readable.from(exported(ports, visit, query)),
    },
  };
}

async function* exported(
  ports: QueryPorts,
  { workspace, caller }: Visit,
  { selection, asked }: WorklistQuery,
): AsyncGenerator<string> {
  const { eventLog, readModels } = ports;
  let record: typeof recordAccess | typeof recordFurtherAccess = recordAccess;
  let header = csvLine(columns);
  for await (const entries of wholeWorklist(readModels, workspace, selection)) {
    for (const access of worklistAccesses(entries, { ...asked, format: 'csv' }, 'readiness.export')) {
      await record(eventLog, caller, access);
      record = recordFurtherAccess;
    }
    const { names, accesses } = await readNames(ports, workspace, namedRecords(entries));
    if (names === undefined) throw unavailable('list');
    for (const access of accesses)
      await recordFurtherAccess(eventLog, caller, { ...access, action: 'readiness.export' });
    yield `${header}${entries.flatMap((entry) => linesOf(entry, names)).join('')}`;
    header = '';
  }
}

function linesOf(entry: WorklistEntry, { nameOf }: RecordNames): string[] {
  const { encounter_id, state, date_of_service, patient_id, payer_id, facility_id, provider_id } = entry;
  const named = (kind: string, id: string | undefined) => (id === undefined ? undefined : nameOf(kind, id));
  const own = {
    patient_name: named('patient', patient_id),
    payer_name: named('payer', payer_id),
    facility_name: named('facility', facility_id),
    provider_name: named('provider', provider_id),
    ...{ encounter_id, state, date_of_service, patient_id, payer_id, facility_id, provider_id },
    ...{ billed_at: entry.billed?.at, claim_id: entry.billed?.id, filing_last_day: entry.filing?.last_day },
  };
  const findings = entry.findings.map(({ rule, severity, kind, id, field }) => ({
    ...{ defect: defectText(rule), rule, severity, record_kind: kind, record_id: id, field },
  }));
  return (findings.length === 0 ? [{}] : findings).map((finding) => {
    const line: Partial<Record<(typeof columns)[number], string | undefined>> = { ...own, ...finding };
    return csvLine(columns.map((column) => line[column]));
  });
}

/** What changed where that is not a record. */
const ofAll: Record<string, string> = {
  workspace: 'A change to the rule settings',
  code_set: 'A newly loaded code set',
};

/**
 * Returns a note on how up to date a worklist is that is not current, with the address for reloading the page;
 * nothing for one that is.
 */
export function progressNote(
  workspace: string,
  { isCurrent, underWay }: WorklistProgress,
  address: string,
): Html | undefined {
  if (isCurrent) return undefined;
  const lines = underWay.map(({ kind, id, done, total }) => {
    const what =
      ofAll[kind] ??
      html`A change to the ${kind} <a href="/dashboard${recordPath(workspace, kind, id)}">${id}</a>`;
    return html`<li>${what} is being applied: ${figure(done)} of ${figure(total)} encounters.</li>`;
  });
  return html`<div class="banner"><p>This list is not up to date yet. Nothing is lost. <a href="${address}">Reload</a></p>
${lines.length > 0 && html`<ul>${lines}</ul>`}</div>`;
}

function figure(count: number): string {
  return count.toLocaleString('en-US');
}

const MONTHS = 12;

/** Returns links to each state, with how many encounters are in it, where that is known. */
function stateTabs(workspace: string, { limits }: WorklistQuery, counts?: ShownCounts): Html {
  const figure = (state: ShownState) =>
    counts && html` <strong>${countIn(counts, state).toLocaleString('en-US')}</strong>`;
  return html`<nav class="tabs" aria-label="States"><ul>${shownStates.map(
    (state) =>
      html`<li><a href="${worklistPath(workspace, { ...limits, state })}"${
        state === limits.state && html` aria-current="page"`
      }>${stateTexts[state]}${figure(state)}</a></li>`,
  )}</ul></nav>`;
}

/**
 * Resolves with how many encounters of each of the last months of service are in the selected state and do not meet
 * the selected rule; each bar leads to these. Undefined where a payer, facility or provider is selected, or whether they were
 * billed: there are no such counts by day. Rejects with `unavailable`.
 */
async function monthChart(
  readModels: ReadModels,
  workspace: string,
  { selection, limits }: WorklistQuery,
): Promise<Html | undefined> {
  const { state = 'any', rule, payer, facility, provider, billed } = selection;
  if ([payer, facility, provider, billed].some((one) => one !== undefined)) return undefined;
  const months = lastMonths(selection.to ?? new Date().toISOString());
  const counts = new Map(months.map(({ name }) => [name, 0]));
  const days = { from: months[0]?.from, to: months.at(-1)?.to };
  for await (const { value, tally } of daysIn(readModels, workspace, days)) {
    const name = monthOf(value);
    counts.set(name, (counts.get(name) ?? 0) + countIn(shownCounts(tally, { rule }), state));
  }
  const points = months.map(({ name, from, to }): ChartPoint => {
    const value = counts.get(name) ?? 0;
    const path = worklistPath(workspace, { ...limits, from, to }).replace('/dashboard', '');
    return { name, value, ...(value > 0 && { link: { path, id: `month-${name}` } }) };
  });
  const sum = [...counts.values()].reduce((all, count) => all + count, 0).toLocaleString('en-US');
  const words = `in ${MONTHS} months until ${months.at(-1)?.name}`;
  return html`<p class="chart-total"><strong>${sum}</strong> <span class="muted">${words}</span></p>
${barChart({ summary: `Encounters by month of service: ${sum} ${words}`, unit: 'encounters' }, points)}`;
}

/** Returns the months up to that of a day, with their first and last days. */
function lastMonths(day: string): { name: string; from: string; to: string }[] {
  const [year, month] = monthOf(day).split('-').map(Number) as [number, number];
  const dayAt = (months: number, date: number) =>
    new Date(Date.UTC(year, months, date)).toISOString().slice(0, 10);
  return Array.from({ length: MONTHS }, (_, at) => {
    const index = month - MONTHS + at;
    const from = dayAt(index, 1);
    return { name: monthOf(from), from, to: dayAt(index + 1, 0) };
  });
}

/** `2026-03` of `2026-03-14`. */
function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** Returns how many encounters are in a state. */
function countIn({ states }: ShownCounts, state: ShownState): number {
  if (state !== 'any') return states[state];
  return readinessStates.reduce((sum, one) => sum + states[one], 0);
}

const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Resolves with how many encounters were in the selected state, and did not meet the selected rule, at the end of
 * each of the last days, and how many are now. Undefined where more than that is selected: there are no such counts.
 * Rejects with `unavailable`.
 */
async function trendChart(
  eventLog: EventLog,
  workspace: string,
  { selection }: WorklistQuery,
  now: Tally | undefined,
): Promise<Html | undefined> {
  const { state = 'any', rule, sort: _, ...others } = selection;
  if (now === undefined || Object.values(others).some((one) => one !== undefined)) return undefined;
  const counted = await readTrend(eventLog, workspace, DAYS);
  if (counted.length === 0) return empty('The trend starts at the end of the first day.');
  const countOf = (tally: Tally) => countIn(shownCounts(tally, { rule }), state);
  const points = lastDays(DAYS - 1).map((day) => {
    // Nothing was counted while the service was down: nothing changed then.
    const last = counted.findLast((one) => one.day <= day);
    return { name: day, value: last ? countOf(last.tally) : 0 };
  });
  const [first, today] = [points.find(({ value }) => value > 0)?.value ?? 0, countOf(now)];
  const change = `${today.toLocaleString('en-US')} now, ${first.toLocaleString('en-US')} at first`;
  return html`<p class="chart-total"><strong>${today.toLocaleString('en-US')}</strong> <span class="muted">now, and at the end of each of the last ${DAYS - 1} days</span></p>
${lineChart({ summary: `Encounters day by day: ${change}`, unit: 'encounters' }, [...points, { name: 'now', value: today }])}`;
}

/** Returns the days before today (UTC), in order. */
function lastDays(count: number): string[] {
  const today = Date.now();
  return Array.from({ length: count }, (_, at) =>
    new Date(today - (count - at) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** Returns the form that limits the worklist; `sent` is what it was sent with. */
function worklistForm(
  workspace: string,
  sent: Record<string, string>,
  known: ReadonlyMap<string, InputField['suggestions']>,
  refusal?: Refusal,
): Html {
  const line = (
    name: string,
    label: string,
    type: 'search' | 'date',
    suggestions?: InputField['suggestions'],
  ) => input({ name, label, type, suggestions, value: sent[name], error: messageOf(refusal?.details, name) });
  const choice = (name: string, label: string, value: string, options: { value: string; text: string }[]) =>
    select({ name, label, value, options, error: messageOf(refusal?.details, name) });
  return filterForm(
    worklistPath(workspace),
    html`${choice(
      'state',
      'State',
      sent.state ?? 'blocked',
      shownStates.map((value) => ({ value, text: stateTexts[value] })),
    )}
${choice('rule', 'Defect', sent.rule ?? '', [
  { value: '', text: 'Any' },
  ...rules
    .map(({ code }) => ({ value: code, text: defectText(code) }))
    .sort((a, b) => a.text.localeCompare(b.text)),
])}
${choice('billed', 'Billed', sent.billed ?? '', [
  { value: '', text: 'Any' },
  { value: 'false', text: 'Not billed' },
  { value: 'true', text: 'Billed' },
])}
${choice('sort', 'Order', sent.sort ?? '', [
  { value: '', text: 'As created' },
  { value: 'filing', text: 'By filing deadline' },
])}
${line('payer_id', 'Payer', 'search', known.get('payer'))}
${line('facility_id', 'Facility', 'search', known.get('facility'))}
${line('provider_id', 'Billing provider', 'search', known.get('provider'))}
${line('from', 'Date of service, from', 'date')}
${line('to', 'Date of service, to', 'date')}`,
  );
}

/** Maximum number of an encounter's findings; its page has all. */
const MOST_SHOWN = 5;

/** Returns the records that such a list names. */
function namedRecords(entries: readonly WorklistEntry[]): { kind: string; id: string }[] {
  return entries.flatMap(({ patient_id, payer_id, facility_id, provider_id }) =>
    [
      { kind: 'patient', id: patient_id },
      { kind: 'payer', id: payer_id },
      { kind: 'facility', id: facility_id },
      { kind: 'provider', id: provider_id },
    ].filter((one): one is { kind: string; id: string } => one.id !== undefined),
  );
}

/** What a list of encounters shows besides the worklist. */
interface Shown {
  names: RecordNames | undefined;
  since: ReadonlyMap<string, Since>;
  principals: PrincipalNames;
}

/** Returns encounters, a line each, with their defects; each is linked to the record at fault. */
function worklistTable(workspace: string, entries: readonly WorklistEntry[], shown: Shown): Html {
  const { names, since, principals } = shown;
  const referred = (kind: string, id: string | undefined) =>
    id !== undefined &&
    html`<a href="/dashboard${recordPath(workspace, kind, id)}" title="${id}">${bdi(names?.nameOf(kind, id) ?? id)}</a>`;
  const hasDeadline = entries.some((entry) => entry.filing?.last_day !== undefined);
  return html`<div class="dense">${table(
    'Encounters',
    [
      {
        title: 'Patient, encounter',
        isHeader: true,
        cell: ({ encounter_id: id, patient_id }: WorklistEntry) =>
          html`<a href="/dashboard${recordPath(workspace, encounter.kind, id)}">${bdi((patient_id && names?.nameOf('patient', patient_id)) || id)}</a> <small class="muted">${bdi(id)}</small>`,
      },
      {
        title: 'State',
        cell: ({ state, billed }: WorklistEntry) =>
          html`${readinessBadge(state)}${billed && html` ${badge('Billed', 'neutral')}`}`,
      },
      {
        title: 'Service',
        cell: ({ date_of_service: date }: WorklistEntry) => (date ? day(date) : fieldValue(date)),
      },
      ...(hasDeadline
        ? [
            {
              title: 'File by',
              cell: (entry: WorklistEntry) => {
                const last = entry.filing?.last_day;
                return last === undefined ? '' : day(last);
              },
            },
          ]
        : []),
      { title: 'Provider', cell: ({ provider_id: id }: WorklistEntry) => referred('provider', id) },
      { title: 'Payer', cell: ({ payer_id: id }: WorklistEntry) => referred('payer', id) },
      { title: 'Defect', cell: (entry: WorklistEntry) => findingList(workspace, entry) },
      {
        title: 'Since, by',
        cell: ({ encounter_id: id }: WorklistEntry) => {
          const known = since.get(id);
          if (known === undefined) return '';
          const { at, principal } = known;
          return html`${timeAgo(at)} <small class="muted">${principal && bdi(principals.nameOf(principal) ?? principal.id)}</small>`;
        },
      },
    ],
    entries,
  )}</div>`;
}

/** Returns the defects of a page as lines of text that can be sent to whoever enters the data. */
function textForOthers(entries: readonly WorklistEntry[], names: RecordNames | undefined): Html | undefined {
  const lines = entries.flatMap((entry) => {
    const { encounter_id, patient_id = '', date_of_service: date, findings } = entry;
    const patient = `${names?.nameOf('patient', patient_id) ?? ''} (${patient_id})`.trim();
    return findings
      .filter(({ severity }) => severity === 'blocks')
      .map(({ rule, kind, id, field }) => {
        const name = names?.nameOf(kind, id);
        const at = `${catalogEntry(kind).title} ${name === undefined ? id : `${name} (${id})`}, ${fieldLabel(field)}`;
        return `${defectText(rule)}: ${at}. Encounter ${encounter_id} of ${patient}${date ? `, ${dayText(date)}` : ''}`;
      });
  });
  if (lines.length === 0) return undefined;
  return html`<div class="actions"><button type="button" class="outline" data-copy="for-others">Copy for the EMR team</button></div>
<details><summary>The text that is copied</summary><pre id="for-others" tabindex="0">${[...new Set(lines)].join('\n')}</pre></details>`;
}

/** Blocking findings come first, and only the first one is open; the fields of one record that do not meet a rule are one item. */
function findingList(workspace: string, { encounter_id, findings }: WorklistEntry): Html {
  const groups = Map.groupBy(findings, ({ rule, kind, id }) => JSON.stringify([rule, kind, id]));
  const sorted = [...groups.values()].toSorted((a, b) => Number(isWarning(a)) - Number(isWarning(b)));
  const [first, ...others] = sorted;
  if (first === undefined) return html`<span class="muted">none</span>`;
  const more = others.length - MOST_SHOWN;
  const path = `/dashboard${recordPath(workspace, encounter.kind, encounter_id)}`;
  return html`${defectLink(workspace, first)}${
    others.length > 0 &&
    html`<details class="further"><summary>and ${others.length} more</summary><ul class="plain">${others.slice(0, MOST_SHOWN).map((group) => findingItem(workspace, group))}${
      more > 0 && html`<li><a href="${path}">and ${more} more</a></li>`
    }</ul></details>`
  }`;
}

function defectLink(workspace: string, group: readonly WorklistFinding[]): Html {
  const { rule, kind, id } = group[0] as WorklistFinding;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  return html`${isWarning(group) && html`${badge('warns', 'neutral')} `}<a href="/dashboard${recordPath(workspace, kind, id)}" title="${catalogEntry(kind).title}: ${fields}">${defectText(rule)}</a>`;
}

function findingItem(workspace: string, group: readonly WorklistFinding[]): Html {
  const { kind } = group[0] as WorklistFinding;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  return html`<li>${defectLink(workspace, group)}<br><small class="muted">${catalogEntry(kind).title}: ${fields}</small></li>`;
}

function isWarning([first]: readonly WorklistFinding[]): boolean {
  return first?.severity === 'warns';
}

const ENCOUNTERS_A_PAGE = 50;

interface WorklistPorts extends QueryPorts {
  names: PrincipalNames;
}

/** `…/readiness`: the encounters of a workspace by what is in the way of billing them; pages, and an export. */
export function worklistRoutes(ports: WorklistPorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/readiness';
  const query = worklistParameters;
  return [
    {
      ...{ method: 'get', path, roles: recordReaders, query },
      handle: async (visit) => ({ page: await worklistPage(ports, visit) }),
    },
    {
      ...{ method: 'get', path: `${path}/export`, roles: recordReaders, query },
      handle: (visit) => exportWorklist(ports, visit),
    },
  ];
}

async function worklistPage(ports: WorklistPorts, visit: Visit): Promise<Page> {
  const { workspace, caller, req } = visit;
  const framed = (body: Html, status = 200): Page => ({
    ...{ title: readinessSection, section: readinessSection, status, body },
  });
  try {
    const query = worklistQuery(req);
    const { selection, pageToken, asked, limits } = query;
    const page = { limit: ENCOUNTERS_A_PAGE, pageToken };
    const worklist = await readWorklist(ports, workspace, selection, page);
    const defects = await readDefects(ports, workspace, selection, query.by);
    const known = await readSuggestions(ports, workspace);
    const [{ names, accesses }, since, months, trend] = await Promise.all([
      readNames(ports, workspace, [...namedRecords(worklist.items), ...namedInMatrix(defects)]),
      readSince(
        ports.eventLog,
        workspace,
        worklist.items.map(({ encounter_id }) => encounter_id),
      ),
      monthChart(ports.readModels, workspace, query),
      trendChart(ports.eventLog, workspace, query, worklist.counts),
    ]);
    await ports.names.learn([...since.values()].flatMap(({ principal }) => principal ?? []));
    const { limit } = page;
    const shown = worklistAccesses(worklist.items, { limit, page_token: pageToken, ...asked });
    await recordAccess(ports.eventLog, caller, ...shown, ...accesses, ...known.accesses);
    return framed(html`${heading(workspace, limits)}
${progressNote(workspace, worklist.progress, req.originalUrl)}
${stateTabs(workspace, query, worklist.counts && shownCounts(worklist.counts, selection))}
${filterPanel(Object.keys(limits).length - 1, worklistForm(workspace, limits, known.suggestions))}
<section aria-labelledby="defects"><h2 id="defects">Defects</h2>
${defectMatrix({ workspace, limits, grouping: query.by, names }, defects)}</section>
<div class="page-head"><h2 id="list">Encounters</h2>
${textForOthers(worklist.items, names)}</div>
${worklist.items.length > 0 && worklistTable(workspace, worklist.items, { names, since, principals: ports.names })}
${further(workspace, query, worklist)}
${figures({ months, trend })}`);
  } catch (error) {
    const refusal = problemOf(error);
    const form = worklistForm(workspace, sentLimits(req), new Map(), refusal);
    return framed(html`<h1>${readinessSection}</h1>${formError(refusal.text)}${form}`, refusal.status);
  }
}

function heading(workspace: string, limits: Record<string, string>): Html {
  const address = worklistPath(workspace, limits, '/export');
  return html`<div class="page-head"><h1>${readinessSection}</h1>
<div class="actions"><a role="button" class="outline secondary" href="${scorecardPath(workspace)}">Scorecard</a>
<a role="button" class="outline secondary" href="${simulationPath(workspace)}">Simulation</a>
<a role="button" class="outline secondary" href="${address}" download>Export as CSV</a></div></div>
<p>Shows which encounters can be billed, and what a payer would refuse in the others.</p>`;
}

function figures({ months, trend }: Record<'months' | 'trend', Html | undefined>): Html {
  return html`<div class="charts">
${trend && html`<section class="card"><h2>Day by day</h2>${trend}</section>`}
${months && html`<section class="card"><h2>By month of service</h2>${months}</section>`}
</div>`;
}

/** Records of a kind whose names are suggested. */
const MOST_SUGGESTED = 100;

/** Resolves with the names that the filters suggest, by the kinds of the records; with fewer where a read model is behind. */
async function readSuggestions(ports: QueryPorts, workspace: string) {
  const suggestions = new Map<string, { value: string; text: string }[]>();
  const accesses: AccessRecorded[] = [];
  for (const entry of [payer, facility, provider]) {
    const request = { limit: MOST_SUGGESTED, pageToken: undefined, sort: '-updated_at' } as const;
    const list = await unlessBehind(listRecords(ports, workspace, entry, request));
    if (list === undefined || list.page.items.length === 0) continue;
    const options = list.page.items.map(({ id, record }) => ({ value: id, text: recordName(record) ?? id }));
    suggestions.set(entry.kind, options);
    const query = { fields: 'name', limit: MOST_SUGGESTED };
    accesses.push({
      action: 'record.list',
      kind: entry.kind,
      query,
      ...(list.shown && { shown: list.shown }),
    });
  }
  return { suggestions, accesses };
}

/** Returns the link to the next page, or says what an empty list means. */
function further(workspace: string, { limits, pageToken }: WorklistQuery, worklist: Worklist): Html {
  const { items, next_page_token: token, counts } = worklist;
  if (token !== null) {
    const address = `${worklistPath(workspace, { ...limits, page_token: token })}#list`;
    return html`<p><a href="${address}" rel="next">${items.length === 0 ? 'Keep looking' : 'Next page'}</a></p>`;
  }
  if (items.length > 0) return html``;
  if (pageToken !== undefined) return empty('No more encounters.');
  const isNone = counts !== undefined && isEmpty(counts);
  if (isNone && Object.keys(limits).join() === 'state')
    return empty(html`No encounters yet. Systems send them with ${code('POST /integration/encounters')}.`);
  const isUnblocked = limits.state === 'blocked' && limits.rule === undefined && counts && !isNone;
  return empty(isUnblocked ? 'Nothing blocks the billing of these encounters.' : 'No encounters match.');
}
