import { Readable } from 'node:stream';
import { z } from 'zod';
import { differenceSelection, differencesQuerySchema } from '../../../api/routes/differences.ts';
import { subjectKinds } from '../../../domain/records/catalog.ts';
import { requiredDate } from '../../../domain/records/schema/fields.ts';
import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import { validate, validationError } from '../../../domain/records/schema/validation.ts';
import {
  type ChangeFormat,
  changesList,
  changesText,
  differencesList,
  recordedParts,
} from '../../../modules/audit/changes.ts';
import {
  type Difference,
  DifferenceCounts,
  differenceOf,
  differences,
  differencesText,
  recordedDifferences,
  sendersOf,
} from '../../../modules/audit/differences.ts';
import type {
  ChangedField,
  ChangedRecord,
  DifferenceSelection,
} from '../../../modules/records/queries/changes.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import type {
  LaterWrite,
  SelectedRecord,
  WriteSelection,
} from '../../../modules/records/queries/selectedWrites.ts';
import { fieldLabel, titleOf } from '../../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  phiReaders,
  problemOf,
  type Reply,
  type Visit,
} from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { fieldValue } from '../../components/records.ts';
import { filledQuery } from '../../components/recordTable.ts';
import { linesCell, type TableColumn, table } from '../../components/tables.ts';
import { badge, time } from '../../components/text.ts';
import {
  type ChangesPorts,
  changesPath,
  changesSection,
  countSome,
  exportLinks,
  selectionParameters,
  selectionRoutes,
} from './selection.ts';

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

/** Returns the writes that a query selects. Throws `validation_failed`. */
export function selectionOf(sent: Record<string, unknown>): WriteSelection {
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

/** `…/changes`: what a key, user or source changed; and what is different between two moments. */
export function changesRoutes(ports: ChangesPorts): DashboardRoute[] {
  const { eventLog, names } = ports;
  const shared = {
    table: async (items: readonly ChangedRecord[], recordColumn: TableColumn<SelectedRecord>) => {
      await names.learn(items.flatMap((one) => [...sendersOf([one]), ...laterWriters(one)]));
      return table('Records', changeColumns(names, recordColumn), items);
    },
    counts: (parts: AsyncIterable<ChangedRecord[]>) => counts(names, parts),
  };
  return [
    ...selectionRoutes<ChangedRecord>(ports, {
      ...{ ...shared, suffix: '', title: changesSection, labels: ['From', 'Before'] },
      none: 'Nothing was changed by these writes.',
      lead: (workspace) =>
        html`What a key, a user or a source changed: each field before and after, and whether somebody else wrote it since. To see what is different in the end, <a href="${changesPath(workspace, '/diff')}">compare two moments</a>.`,
      list: (sent, { caller }) => changesList(eventLog, caller, selectionOf(sent)),
      actions: (workspace, sent) =>
        html`${exportLinks(workspace, '/export', sent)}<a role="button" class="outline" href="${changesPath(workspace, '/undo', sent)}">Plan an undo</a>`,
    }),
    ...selectionRoutes<ChangedRecord>(ports, {
      ...{ ...shared, suffix: '/diff', title: 'Compare two moments', labels: ['Then', 'Later'] },
      none: 'There is no difference.',
      lead: () =>
        'What is different in the workspace at a later moment from what it was before. Only the result counts: a field that was changed and changed back is no difference.',
      list: (sent, { caller }) => differencesList(eventLog, caller, differencesOf(sent)),
      actions: (workspace, sent) => exportLinks(workspace, '/diff/export', sent),
    }),
    fileRoute('/export', 'changes', (visit) => changesFile(ports, visit)),
    fileRoute('/diff/export', 'diff', (visit) => differencesFile(ports, visit)),
  ];
}

const fileRoute = (
  suffix: string,
  report: 'changes' | 'diff',
  handle: DashboardRoute['handle'],
): DashboardRoute => ({
  ...{ method: 'get', path: `/workspaces/:workspace/changes${suffix}`, roles: phiReaders, report, handle },
  query: [...selectionParameters, 'format'],
});

const tones = {
  created: 'good',
  changed: 'neutral',
  removed: 'bad',
  erased: 'bad',
  unreadable: 'bad',
} as const;

function changeColumns(
  names: PrincipalNames,
  recordColumn: TableColumn<SelectedRecord>,
): TableColumn<ChangedRecord>[] {
  const last = ({ fields, erasure }: ChangedRecord): LaterWrite | undefined =>
    erasure ?? fields.toSorted((one, other) => other.version - one.version)[0];
  const by = ({ principal }: LaterWrite) => who({ ...principal, name: names.nameOf(principal) ?? null });
  const line = ({ field, from, to, since }: ChangedField) =>
    html`${fieldLabel(field)}: ${from !== null && html`${fieldValue(from)} → `}<strong>${fieldValue(to)}</strong>${
      since &&
      html`<br><small>since ${time(since.at)} ${fieldValue(since.value)}, version ${since.version} by ${by(since)}</small>`
    }`;
  return [
    recordColumn,
    {
      title: 'Change',
      cell: (record) => {
        const difference = differenceOf(record);
        return html`${badge(difference, tones[difference])}${record.fields.some(({ since }) => since) && html` ${badge('changed since', 'neutral')}`}`;
      },
    },
    {
      title: 'Fields',
      isCut: true,
      cell: ({ fields }) =>
        linesCell(fields.map((one) => ({ name: fieldLabel(one.field), line: line(one) }))),
    },
    {
      title: 'Last write',
      cell: (one) => {
        const write = last(one);
        return write && time(write.at);
      },
    },
    {
      title: 'By',
      cell: (one) => {
        const write = last(one);
        return write && by(write);
      },
    },
  ];
}

const laterWriters = ({ fields }: ChangedRecord) => fields.flatMap(({ since }) => since?.principal ?? []);

/** Fields, and senders, that are counted one by one. */
const MOST_NAMED = 8;

async function counts(names: PrincipalNames, parts: AsyncIterable<ChangedRecord[]>): Promise<Html> {
  const all = new DifferenceCounts();
  const note = await countSome(parts, (record) => all.add(record));
  await names.learn(all.principals);
  const { records, fields, senders } = all.view((principal) => names.nameOf(principal));
  const isAny = (one: Difference) => Object.values(records).some((of) => (of[one] ?? 0) > 0);
  const shown = differences.filter((one) => one !== 'unreadable' || isAny(one));
  const number = (count = 0) => (count === 0 ? undefined : count.toLocaleString('en-US'));
  return html`<div class="charts">
${table<[string, Record<string, number>]>(
  'Records by kind',
  [
    { title: 'Kind', isHeader: true, cell: ([kind]) => titleOf(kind) },
    ...shown.map((one) => ({
      title: titleOf(one),
      isNumber: true,
      cell: ([, of]: [string, Record<string, number>]) => number(of[one]),
    })),
  ],
  Object.entries(records),
)}
${table(
  'Fields by sender',
  [
    { title: 'Sender of the last write', isHeader: true, cell: ({ principal }) => who(principal) },
    { title: 'Fields', isNumber: true, cell: (one) => number(one.fields) },
    { title: 'Records', isNumber: true, cell: (one) => number(one.records) },
  ],
  senders.slice(0, MOST_NAMED),
)}
${
  Object.keys(fields).length > 0 &&
  table(
    'Fields of changed records',
    [
      { title: 'Changed field', isHeader: true, cell: ([name]) => fieldOfKind(name) },
      { title: 'Records', isNumber: true, cell: ([, count]) => number(count) },
    ],
    Object.entries(fields).slice(0, MOST_NAMED),
  )
}
</div>
${note}`;
}

/** `patient.primary_insurance.policy_number`. */
function fieldOfKind(name: string): Html {
  const [kind = '', ...field] = name.split('.');
  return html`<small class="muted">${titleOf(kind)}</small> ${fieldLabel(field.join('.'))}`;
}

async function changesFile({ names, ...ports }: ChangesPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const { format, query } = fileAsked(visit);
  const list = changesList(ports.eventLog, caller, selectionOf(query));
  const parts = await recordedParts(ports, caller, list);
  const body = Readable.from(changesText(parts, names, format));
  return { download: { ...typeOf('changes', workspace, format), body } };
}

async function differencesFile({ names, ...ports }: ChangesPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const { format, query } = fileAsked(visit);
  const selection = differencesOf(query);
  const compared = await recordedDifferences(ports, caller, selection);
  const body = Readable.from(differencesText(compared, names, selection, format));
  return { download: { ...typeOf('differences', workspace, format), body } };
}

function fileAsked({ req }: Visit): { format: ChangeFormat; query: Record<string, unknown> } {
  const { format, ...query } = filledQuery(req);
  return { format: format === 'json' ? 'json' : 'csv', query };
}

function typeOf(what: string, workspace: string, format: ChangeFormat) {
  const name = `${what}-${workspace}-${new Date().toISOString().slice(0, 10)}.${format}`;
  return { name, type: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json' };
}
