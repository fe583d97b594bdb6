import { Readable } from 'node:stream';
import type { Request } from 'express';
import { z } from 'zod';
import { differenceSelection, differencesQuerySchema } from '../../api/routes/differences.ts';
import type { AppPorts } from '../../api/routes/index.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { diffFields } from '../../domain/records/fold.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import {
  type ChangeFormat,
  changeFormats,
  changesText,
  recordedChanges,
  recordedUndo,
} from '../../modules/audit/changes.ts';
import {
  DifferenceCounts,
  differenceOf,
  differences,
  differencesText,
  recordedDifferences,
  sendersOf,
} from '../../modules/audit/differences.ts';
import type { UserDirectory } from '../../modules/auth/users.ts';
import { readSources } from '../../modules/integrations/sources.ts';
import {
  type UndoneField,
  type UndoneRecord,
  undoActions,
  undoActionTexts,
} from '../../modules/records/commands/undo.ts';
import type {
  ChangedField,
  ChangedRecord,
  DifferenceSelection,
} from '../../modules/records/queries/changes.ts';
import type { LaterWrite, WriteSelection } from '../../modules/records/queries/selectedWrites.ts';
import { filterForm, input, messageOf, select } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  phiReaders,
  problemOf,
  type Refusal,
  type Reply,
  type Visit,
} from '../components/page.ts';
import { principalChoices, who } from '../components/people.ts';
import { fieldValue } from '../components/records.ts';
import { filledQuery, textsOf } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { bdi, empty, fieldLabel, time, titleOf } from '../components/text.ts';
import { momentInputs, shownMoment, zoneParameter } from '../components/time.ts';
import { documentsPath, recordPath, signedPath } from '../components/urls.ts';

const SECTION = 'Changes';

/** Records that one page looks at, and that one undo writes: some seconds of work. */
const MOST_RECORDS = 5_000;
/** Records that are listed. */
const MOST_LISTED = 100;

const text = z.string().optional();
const moment = 'such as 2026-11-24T09:00';
const querySchema = z.object({
  principal: text,
  source: text,
  request: text,
  from: requiredDate(moment),
  to: requiredDate(moment).optional(),
  kind: z.enum(subjectKinds).optional(),
});
const parameters = Object.keys(querySchema.shape);

/** Returns the writes that a query selects. Throws `validation_failed`. */
function selectionOf(sent: Record<string, unknown>): WriteSelection {
  const { from, to, kind, principal, source, request } = validate(querySchema, sent);
  const instant = (text: string) => new Date(instantOf(text)).toISOString();
  return {
    ...(principal !== undefined && { principal }),
    ...(source !== undefined && { source }),
    ...(request !== undefined && { request }),
    since: instant(from),
    ...(to !== undefined && { until: instant(to) }),
    ...(kind !== undefined && { kinds: [kind] }),
  };
}

type Ports = AppPorts & { users: UserDirectory };

const changesPath = (workspace: string, suffix = '', sent: Record<string, string> = {}) => {
  const query = new URLSearchParams(sent).toString();
  return `/dashboard/workspaces/${workspace}/changes${suffix}${query && `?${query}`}`;
};

/** `…/changes`: what a key, user or source changed, and the undo of it. */
export function changesRoutes(ports: Ports): DashboardRoute[] {
  const path = '/workspaces/:workspace/changes';
  const query = [...parameters, zoneParameter];
  const roles = phiReaders;
  return [
    { method: 'get', path, roles, query, handle: (visit) => changesPage(ports, visit) },
    {
      ...{
        method: 'get',
        path: `${path}/export`,
        roles,
        query: [...parameters, 'format'],
        report: 'changes',
      },
      handle: (visit) => changesFile(ports, visit),
    },
    { method: 'get', path: `${path}/diff`, roles, query, handle: (visit) => diffPage(ports, visit) },
    {
      ...{
        method: 'get',
        path: `${path}/diff/export`,
        roles,
        query: [...parameters, 'format'],
        report: 'diff',
      },
      handle: (visit) => diffFile(ports, visit),
    },
    { method: 'get', path: `${path}/undo`, roles, query, handle: (visit) => undoPage(ports, visit) },
    { method: 'post', path: `${path}/undo`, roles: admins, handle: (visit) => undo(ports, visit) },
  ];
}

async function selectionForm(
  ports: Ports,
  path: string,
  workspace: string,
  sent: Record<string, string>,
  labels: [from: string, to: string],
  refusal?: Refusal,
): Promise<Html> {
  const field = (name: string, label: string) => ({
    ...{ name, label, value: sent[name] ?? '', error: messageOf(refusal?.details, name) },
  });
  const instant = (name: string, label: string) => ({
    ...{ ...field(name, label), value: shownMoment(sent[name]), step: 1, isRequired: name === 'from' },
  });
  const choice = (name: string, label: string, any: string, options: { value: string; text: string }[]) =>
    select({ ...field(name, label), options: [{ value: '', text: any }, ...options] });
  const sources = (await readSources(ports.eventLog, workspace)).map(({ id }) => ({ value: id, text: id }));
  const kinds = subjectKinds.map((kind) => ({ value: kind, text: titleOf(kind) }));
  return filterForm({
    path: path,
    limits: sent,
    isOpen: refusal !== undefined || Object.keys(sent).length === 0,
    fields: html`${momentInputs(instant('from', labels[0]), instant('to', labels[1]))}
${choice('principal', 'Written by', 'Anyone', principalChoices(ports, workspace))}
${choice('source', 'Source', 'Any source', sources)}
${choice('kind', 'Kind', 'Any kind', kinds)}
${input({ ...field('request', 'Request ID'), type: 'search', hint: 'Of a batch, or of an earlier undo.' })}`,
  });
}

/** Reads from a generator up to `MOST_RECORDS`. */
async function readSome<Item>(parts: AsyncIterable<Item[]>): Promise<{ items: Item[]; isAll: boolean }> {
  const items: Item[] = [];
  for await (const part of parts) {
    items.push(...part);
    if (items.length >= MOST_RECORDS) return { items, isAll: false };
  }
  return { items, isAll: true };
}

interface SelectionPage {
  title: string;
  path: string;
  lead: Html;
  /** What the two moments are called. */
  labels?: [from: string, to: string];
}

/** A page with the form, and with what `show` makes of the selection once there is one. */
async function selectionPage(
  ports: Ports,
  { req, workspace }: Visit,
  { title, path, lead, labels = ['From', 'Before'] }: SelectionPage,
  show: (filled: ReturnType<typeof filledQuery>, sent: Record<string, string>) => Promise<Html>,
): Promise<Reply> {
  const filled = filledQuery(req);
  const sent = textsOf({ query: filled });
  let found: Html | undefined;
  let refusal: Refusal | undefined;
  try {
    if (Object.keys(sent).length > 0) found = await show(filled, sent);
  } catch (error) {
    refusal = problemOf(error);
  }
  const body = html`${lead}
${await selectionForm(ports, path, workspace, sent, labels, refusal)}
${found}`;
  return { page: { title, section: SECTION, body, ...(refusal && { status: refusal.status }) } };
}

function changesPage(ports: Ports, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const path = changesPath(workspace);
  const lead = html`<h1>${SECTION}</h1>
<p>What a key, a user or a source changed: each field before and after, and whether somebody else wrote it since. To see what is different in the end, <a href="${changesPath(workspace, '/diff')}">compare two moments</a>.</p>`;
  return selectionPage(ports, visit, { title: SECTION, path, lead }, async (filled, sent) => {
    const { items, isAll } = await readSome(recordedChanges(ports, caller, selectionOf(filled)));
    if (items.length === 0) return empty('Nothing was changed by these writes.');
    const shown = items.slice(0, MOST_LISTED);
    await ports.names.learn(laterWriters(shown.flatMap(({ fields }) => fields.map(({ since }) => since))));
    const fields = items.reduce((sum, one) => sum + one.fields.length, 0);
    const file = exportLinks(workspace, '/export', sent);
    return html`<h2>Changed</h2>
<p>${figure(fields, 'field')} of ${figure(items.length, 'record')}${!isAll && html`; only the first ${figure(MOST_RECORDS, 'record')} are counted`}.${items.length > MOST_LISTED && ` The first ${MOST_LISTED} records are listed; the files have all of them.`}</p>
<div class="actions">${file} <a role="button" class="outline" href="${changesPath(workspace, '/undo', sent)}">Plan an undo</a></div>
${table('Changed fields', changeColumns(ports, workspace), shown.flatMap(rowsOf))}`;
  });
}

function exportLinks(workspace: string, suffix: string, sent: Record<string, string>): Html[] {
  const pathOf = (format: string) => changesPath(workspace, suffix, { ...sent, format });
  const link = (path: string, text: string) =>
    html`<a role="button" class="outline secondary" href="${path}" download>${text}</a> `;
  return [
    ...changeFormats.map((format) => link(pathOf(format), `Export as ${format.toUpperCase()}`)),
    link(signedPath(pathOf('csv')), 'Export with manifest'),
  ];
}

/** The fields of the form, by the parameters of the interface. */
const formFields: Record<string, string> = { since: 'from', until: 'to' };

/** Returns the differences that a query selects. Throws `validation_failed`. */
function differencesOf({ from: since, to: until, ...others }: Record<string, unknown>): DifferenceSelection {
  try {
    const sent = { ...others, since, ...(until !== undefined && { until }) };
    return differenceSelection(validate(differencesQuerySchema, sent));
  } catch (error) {
    const { details } = problemOf(error);
    if (details === undefined) throw error;
    throw validationError(details.map((one) => ({ ...one, field: formFields[one.field] ?? one.field })));
  }
}

function diffPage(ports: Ports, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const title = 'Compare two moments';
  const lead = html`${breadcrumb([{ text: SECTION, path: `/workspaces/${workspace}/changes` }])}
<h1>${title}</h1>
<p>What is different in the workspace at a later moment from what it was before. Only the result counts: a field that was changed and changed back is no difference.</p>`;
  const page = { title, path: changesPath(workspace, '/diff'), lead };
  return selectionPage(ports, visit, { ...page, labels: ['Then', 'Later'] }, async (filled, sent) => {
    const compared = await recordedDifferences(ports, caller, differencesOf(filled));
    const { items, isAll } = await readSome(compared.parts());
    if (items.length === 0) return empty('There is no difference.');
    const counts = new DifferenceCounts();
    for (const item of items) counts.add(item);
    const shown = items.slice(0, MOST_LISTED);
    await ports.names.learn([...counts.principals, ...sendersOf(shown)]);
    const { records, fields, senders } = counts.view((principal) => ports.names.nameOf(principal));
    return html`<h2>Different</h2>
${!isAll && html`<p>Only the first ${figure(MOST_RECORDS, 'record')} are counted.</p>`}
${table(
  'Records by kind',
  [
    { title: 'Kind', isHeader: true, cell: ([kind]) => titleOf(kind) },
    ...differences.map((one) => ({
      title: titleOf(one),
      cell: ([, of]: [string, Record<string, number>]) => (of[one] ?? 0).toLocaleString('en-US'),
    })),
  ],
  Object.entries(records),
)}
${table(
  'Fields of changed records',
  [
    { title: 'Field', isHeader: true, cell: ([name]) => fieldOfKind(name) },
    { title: 'Records', cell: ([, count]) => count.toLocaleString('en-US') },
  ],
  Object.entries(fields),
)}
${table(
  'Fields by sender',
  [
    { title: 'Sender of the last write', isHeader: true, cell: ({ principal }) => who(principal) },
    { title: 'Fields', cell: (one) => one.fields.toLocaleString('en-US') },
    { title: 'Records', cell: (one) => one.records.toLocaleString('en-US') },
  ],
  senders,
)}
<h2>Records</h2>
${items.length > MOST_LISTED && html`<p>The first ${MOST_LISTED} records are listed; the files have all of them.</p>`}
<div class="actions">${exportLinks(workspace, '/diff/export', sent)}</div>
${table('Differences', differenceColumns(ports, workspace), shown.flatMap(rowsOf))}`;
  });
}

/** `patient.primary_insurance.policy_number`. */
function fieldOfKind(name: string): Html {
  const [kind = '', ...field] = name.split('.');
  return html`<small class="muted">${titleOf(kind)}</small> ${fieldLabel(field.join('.'))}`;
}

function differenceColumns(ports: Ports, workspace: string): TableColumn<ChangeRow>[] {
  return [
    { title: 'Record', isHeader: true, cell: ({ record }) => recordLink(workspace, record) },
    { title: 'What became of it', cell: ({ record }) => titleOf(differenceOf(record)) },
    { title: 'Field', cell: ({ change }) => change && fieldLabel(change.field) },
    { title: 'Then', cell: ({ change }) => change && fieldValue(change.from) },
    { title: 'Later', cell: ({ change }) => change && fieldValue(change.to) },
    {
      title: 'Last write',
      cell: ({ record, change = record.erasure }) =>
        change && html`${time(change.at)}<br><small>${laterText(ports, change)}</small>`,
    },
  ];
}

async function diffFile(ports: Ports, { req, workspace, caller }: Visit): Promise<Reply> {
  const { format: sent, ...query } = filledQuery(req);
  const format = sent === 'json' ? 'json' : 'csv';
  const selection = differencesOf(query);
  const compared = await recordedDifferences(ports, caller, selection);
  const body = Readable.from(differencesText(compared, ports.names, selection, format));
  return { download: { ...typeOf('differences', workspace, format), body } };
}

interface ChangeRow {
  record: ChangedRecord;
  change: ChangedField | undefined;
}

const rowsOf = (record: ChangedRecord): ChangeRow[] =>
  record.fields.length === 0
    ? [{ record, change: undefined }]
    : record.fields.map((change) => ({ record, change }));

function changeColumns(ports: Ports, workspace: string): TableColumn<ChangeRow>[] {
  return [
    { title: 'Record', isHeader: true, cell: ({ record }) => recordLink(workspace, record) },
    {
      title: 'Field',
      cell: ({ record, change }) =>
        change ? fieldLabel(change.field) : record.erased && html`<span class="muted">erased</span>`,
    },
    { title: 'Before', cell: ({ change }) => change && fieldValue(change.from) },
    { title: 'After', cell: ({ change }) => change && fieldValue(change.to) },
    { title: 'When', cell: ({ change }) => change && html`${time(change.at)}, version ${change.version}` },
    {
      title: 'Changed since',
      cell: ({ change }) =>
        change?.since &&
        html`${fieldValue(change.since.value)}<br><small>${laterText(ports, change.since)}</small>`,
    },
  ];
}

function recordLink(
  workspace: string,
  { kind, id, document_id }: Pick<ChangedRecord, 'kind' | 'id' | 'document_id'>,
): Html {
  const path =
    document_id === undefined ? recordPath(workspace, kind, id) : documentsPath(workspace, id, document_id);
  return html`<small class="muted">${titleOf(kind)}</small> <a href="/dashboard${path}">${bdi(document_id ?? id)}</a>`;
}

const laterWriters = (all: readonly (LaterWrite | undefined)[]) => all.flatMap((one) => one?.principal ?? []);

const laterText = ({ names }: Ports, { version, principal }: LaterWrite): Html =>
  html`version ${version} by ${who({ ...principal, name: names.nameOf(principal) ?? null })}`;

const figure = (count: number, thing: string) =>
  `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`;

async function changesFile(ports: Ports, { req, workspace, caller }: Visit): Promise<Reply> {
  const { format: sent, ...query } = filledQuery(req);
  const format = sent === 'json' ? 'json' : 'csv';
  const body = Readable.from(
    changesText(recordedChanges(ports, caller, selectionOf(query)), ports.names, format),
  );
  return { download: { ...typeOf('changes', workspace, format), body } };
}

function typeOf(what: string, workspace: string, format: ChangeFormat) {
  const name = `${what}-${workspace}-${new Date().toISOString().slice(0, 10)}.${format}`;
  return { name, type: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json' };
}

function undoPage(ports: Ports, visit: Visit): Promise<Reply> {
  const { workspace, caller, csrf } = visit;
  const path = changesPath(workspace, '/undo');
  const lead = html`${breadcrumb([{ text: SECTION, path: `/workspaces/${workspace}/changes` }])}
<h1>Undo</h1>
<p>Gives records the values from before the selected writes. What others wrote since stays, and nothing is removed from the history. An undo can be undone: select its request.</p>`;
  return selectionPage(ports, visit, { title: 'Undo', path, lead }, async (filled, sent) => {
    const undoing = recordedUndo(ports, caller, selectionOf(filled), { dryRun: true });
    const { items, isAll } = await readSome(undoing);
    if (items.length === 0) return empty('There is nothing to undo.');
    const shown = items.slice(0, MOST_LISTED);
    await ports.names.learn(laterWriters(shown.flatMap(({ fields }) => fields.map(({ by }) => by))));
    const counts = Map.groupBy(items, ({ action }) => action);
    const hidden = Object.entries(sent).filter(([name]) => parameters.includes(name));
    return html`<h2>Plan</h2>
${table(
  'Records by what is done with them',
  [
    { title: 'What is done', isHeader: true, cell: (action) => titleOf(undoActionTexts[action]) },
    { title: 'Records', cell: (action) => counts.get(action)?.length.toLocaleString('en-US') },
  ],
  undoActions.filter((action) => counts.has(action)),
)}
${!isAll && html`<p>Only the first ${figure(MOST_RECORDS, 'record')} are counted, and one undo writes no more; repeat it for the rest.</p>`}
${
  visit.may(admins)
    ? html`<form method="post" action="${path}">${csrf}${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="actions"><button type="submit" class="danger">Undo these writes</button></div></form>`
    : html`<p class="muted">An administrator can apply it.</p>`
}
${items.length > MOST_LISTED && html`<p>The first ${figure(MOST_LISTED, 'record')} are listed. <code>chartledger undo plan</code> lists all of them.</p>`}
${table('Plan of the undo', planColumns(ports, workspace), shown)}`;
  });
}

function planColumns(ports: Ports, workspace: string): TableColumn<UndoneRecord>[] {
  const value = ({ field, from, to, action, by }: UndoneField): HtmlValue => {
    if (action === 'keep')
      return html`<li>${fieldLabel(field)} stays${by ? html`, ${laterText(ports, by)}` : ', as it is required'}</li>`;
    const [now, then] = [from, to].map((one) => ({ [field]: one }) as RecordFields);
    return diffFields(now, then as RecordFields).map(
      (one) =>
        html`<li>${fieldLabel(one.field)}: ${fieldValue(one.from)} → <strong>${fieldValue(one.to)}</strong></li>`,
    );
  };
  return [
    { title: 'Record', isHeader: true, cell: (one) => recordLink(workspace, one) },
    {
      title: 'What is done',
      cell: ({ action, problem }) =>
        html`${titleOf(undoActionTexts[action])}${problem && html`<br><small>${bdi(problem)}</small>`}`,
    },
    { title: 'Fields', cell: ({ fields }) => html`<ul class="plain">${fields.map(value)}</ul>` },
  ];
}

/** Applies an undo; the page that follows has the plan of undoing it. */
async function undo(ports: Ports, { form, workspace, caller, notice }: Visit): Promise<Reply> {
  const sent = textsOf({ query: form as Request['query'] });
  const selection = selectionOf(
    Object.fromEntries(parameters.filter((name) => sent[name]).map((name) => [name, sent[name]])),
  );
  const from = new Date().toISOString();
  let [written, blocked] = [0, 0];
  for await (const part of recordedUndo(ports, caller, selection, { dryRun: false })) {
    written += part.filter(({ action }) => ['revert', 'void', 'remove'].includes(action)).length;
    blocked += part.filter(({ action }) => action === 'blocked').length;
    if (written >= MOST_RECORDS) break;
  }
  notice(
    `${figure(written, 'record')} undone${blocked > 0 ? `, ${figure(blocked, 'record')} blocked` : ''}. To undo this, apply the plan below.`,
  );
  const query = new URLSearchParams({ from, request: caller.requestId });
  return { redirect: `/workspaces/${workspace}/changes/undo?${query}` };
}
