import type { Request } from 'express';
import { momentQuerySchema, pageQuerySchema } from '../../api/schemas/parameters.ts';
import type { ReadinessState } from '../../domain/events/readinessEvents.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { qualityWarnings } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { type CatalogEntry, type RecordFields, recordName } from '../../domain/records/schema/kind.ts';
import { isVoid } from '../../modules/readiness/rules/rule.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { RecordView } from '../../modules/records/queries/records.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isUnavailable } from '../../platform/retry.ts';
import { fieldLabel } from './labels.ts';
import { breadcrumb } from './layout.ts';
import { type Html, type HtmlValue, html, problemOf, type Refusal } from './page.ts';
import { earlierParameter } from './paging.ts';
import { fieldValue, namedLink, recordLink } from './records.ts';
import { type TableColumn, table } from './tables.ts';
import { badge, bdi, code, dayText, empty, idBeside, time } from './text.ts';
import { queryInUtc } from './time.ts';
import { recordPath, recordsPath } from './urls.ts';

const badges: Record<ReadinessState, Html> = {
  ready: badge('ready', 'good'),
  self_pay: badge('self-pay', 'good'),
  blocked: badge('blocked', 'bad'),
  rejected: badge('rejected', 'bad'),
  not_completed: badge('not completed', 'neutral'),
  voided: badge('void', 'neutral'),
};

/** Returns an encounter's state; undefined where that is not known. */
export function readinessBadge(state: ReadinessState | undefined): Html | undefined {
  return state && badges[state];
}

export const recordsSection = 'Records';

/** The query parameters of a list's page, and of a page of one version or moment. */
export const pageParameters: readonly string[] = Object.keys(pageQuerySchema.shape);
export const momentParameters: readonly string[] = Object.keys(momentQuerySchema.shape);

/**
 * Returns the query without the fields that a form sent empty, and with its moments in UTC. Throws
 * `validation_failed`.
 */
export function filledQuery({ query }: Request): Request['query'] {
  const isAsked = ([name, value]: [string, unknown]) => value !== '' && name !== earlierParameter;
  return queryInUtc(Object.fromEntries(Object.entries(query).filter(isAsked)));
}

/** Returns the parameters of a query that were sent once, as sent. */
export function textsOf({ query }: Pick<Request, 'query'>): Record<string, string> {
  const isText = (pair: [string, unknown]): pair is [string, string] => typeof pair[1] === 'string';
  return Object.fromEntries(Object.entries(query).filter(isText));
}

/** Returns the kind with a plural name, as used in paths; throws `not_found` for an unknown one. */
export function kindOf(plural: unknown): CatalogEntry {
  const entry = catalog.find((one) => one.plural === plural);
  if (entry === undefined) throw new ServiceError('not_found', 'There is no such kind of record.');
  return entry;
}

/** All kinds as people look for them: what they come for most is first. */
export const soughtKinds = [
  patient,
  encounter,
  ...catalog.filter((entry) => entry !== patient && entry !== encounter),
];

/** Returns a kind's name as the heading of several records. */
export function pluralTitle({ plural }: CatalogEntry): string {
  return plural.charAt(0).toUpperCase() + plural.slice(1);
}

/** Returns the breadcrumb of a record's page, or, where a record is given, of what is below that; `name` is what it is called. */
export function recordCrumbs(
  workspace: string,
  entry: CatalogEntry,
  record?: { id: string; name?: HtmlValue },
): Html {
  return breadcrumb([
    { text: recordsSection, path: recordsPath(workspace) },
    { text: pluralTitle(entry), path: recordsPath(workspace, entry.kind) },
    ...(record
      ? [{ text: record.name ?? record.id, path: recordPath(workspace, entry.kind, record.id) }]
      : []),
  ]);
}

/** Returns why a query names no state of a record; rethrows any other error. */
export function refusedQuery(error: unknown): Refusal {
  return problemOf(error, ['validation_failed', 'not_found', 'gone']);
}

/**
 * Resolves with what a part of a page reads from a read model; undefined where that is too far behind, or cannot be
 * reached.
 */
export async function unlessBehind<Result>(read: Promise<Result>): Promise<Result | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Returns a link to a record by its name, or by its id where the name is not known. */
export function referredLink(
  workspace: string,
  kind: string,
  id: unknown,
  names: RecordNames | undefined,
): HtmlValue {
  return typeof id === 'string'
    ? namedLink(workspace, kind, id, names?.nameOf(kind, id))
    : fieldValue(undefined);
}

/** What a list of encounters names: title of the column, kind, and the field that refers to it. */
const referredColumns = [
  ['Patient', 'patient', 'patient_id'],
  ['Provider', 'provider', 'provider_id'],
  ['Facility', 'facility', 'facility_id'],
] as const;

type Columns = TableColumn<RecordView>[];

interface RecordTable {
  workspace: string;
  entry: CatalogEntry;
  records: readonly RecordView[];
  names: RecordNames | undefined;
  /** For encounters, the state of each, by its id; without it there is no such column. */
  readiness?: ReadonlyMap<string, ReadinessState> | undefined;
  /** They are on the page of a record of this kind, to which all of them refer: a narrow table. */
  partOf?: string;
  /** They are shown as of this time (ISO 8601), and link to themselves at that time. */
  asOf?: string;
  /** How a standalone list is sorted, and the addresses of its other sort orders. */
  sorting?: { sort: string; address(sort: string): string };
}

/** What lists are sorted by, by the column that shows it. */
const sortOf = {
  created: { sort: 'created_at', order: 'ascending' },
  updated: { sort: '-updated_at', order: 'descending' },
} as const;

/**
 * Returns the fields of records of a kind whose names such a list shows; without the one that refers to the record it
 * is part of.
 */
export function namedFields(kind: string, partOf?: string): string[] {
  if (kind !== encounter.kind) return [];
  return referredColumns.filter(([, referred]) => referred !== partOf).map(([, , field]) => field);
}

function noRecords({ plural }: CatalogEntry, asOf: string | undefined): Html {
  const none = `No ${plural} here.`;
  if (asOf !== undefined) return empty(none);
  return empty(html`${none} Systems send them with ${code(`POST /integration/${plural}`)}.`);
}

/**
 * Returns a list of records, each with what distinguishes it from others, and how much of it billing is likely to
 * refuse.
 */
export function recordTable(shown: RecordTable): Html {
  const { workspace, entry, records, partOf, asOf, sorting } = shown;
  const query = asOf === undefined ? '' : `?as_of=${encodeURIComponent(asOf)}`;
  if (records.length === 0) return noRecords(entry, asOf);
  const isOfEncounters = entry.kind === encounter.kind;
  const warningsOf = ({ record }: RecordView) => qualityWarnings(entry, record, record).length;
  const columns: Columns = [
    {
      title: isOfEncounters ? fieldLabel('date_of_service') : 'Name',
      ...{ isHeader: true, isCut: !isOfEncounters },
      cell: ({ id, record }) => {
        const name = calledBy(entry, record);
        return html`<a href="/dashboard${recordPath(workspace, entry.kind, id)}${query}" title="${name ? `${name}, ${id}` : id}" aria-label="${name ? `${name}, ${id}` : id}">${bdi(name ?? id)}</a>`;
      },
    },
    ...(isOfEncounters ? encounterColumns(shown) : []),
    ...distinguishingColumns(entry),
    { title: 'ID', cell: ({ id }) => idBeside(id) },
    ...(records.some((one) => warningsOf(one) > 0)
      ? [{ title: 'Warnings', cell: (one: RecordView) => warningCount(warningsOf(one)) }]
      : []),
    { title: 'Last change', ...sortedBy('updated', sorting), cell: ({ updated_at }) => time(updated_at) },
    ...(partOf === undefined && (!isOfEncounters || sorting?.sort === sortOf.created.sort)
      ? [createdColumn(sorting)]
      : []),
  ];
  return html`<div class="dense">${table(pluralTitle(entry), columns, records)}</div>`;
}

/** Returns what people call a record in a list of its kind: an encounter by its day. */
function calledBy({ listedBy }: CatalogEntry, record: RecordFields): string | undefined {
  const day = listedBy && record[listedBy];
  return typeof day === 'string' ? dayText(day) : recordName(record);
}

/** What else distinguishes records of a kind in a list. */
const distinguishing: Readonly<Record<string, readonly string[]>> = {
  patient: ['date_of_birth'],
  payer: ['payer_code', 'payer_type'],
  provider: ['npi', 'specialty'],
  facility: ['npi', 'city', 'state'],
};

function distinguishingColumns({ kind }: CatalogEntry): Columns {
  return (distinguishing[kind] ?? []).map((field) => ({
    title: fieldLabel(field),
    cell: ({ record }) => record[field] != null && fieldValue(record[field]),
  }));
}

function createdColumn(sorting: RecordTable['sorting']): Columns[number] {
  return { title: 'Created', ...sortedBy('created', sorting), cell: ({ created_at }) => time(created_at) };
}

function sortedBy(by: keyof typeof sortOf, sorting: RecordTable['sorting']): Pick<Columns[number], 'sort'> {
  if (sorting === undefined) return {};
  const { sort, order } = sortOf[by];
  const isSorted = sorting.sort === sort;
  return { sort: { href: sorting.address(sort), ...(isSorted && { order }) } };
}

function encounterColumns({ workspace, names, readiness, partOf }: RecordTable): Columns {
  return [
    ...referredColumns
      .filter(([, kind]) => kind !== partOf)
      .map(([title, kind, field]) => ({
        title,
        isCut: true,
        cell: ({ record }: RecordView) => {
          const id = record[field];
          // A line has room for one more id: that of the patient, by which people look somebody up.
          if (kind === patient.kind || typeof id !== 'string')
            return referredLink(workspace, kind, id, names);
          return recordLink(workspace, kind, id, names?.nameOf(kind, id));
        },
      })),
    {
      title: 'State',
      cell: ({ record }) =>
        html`${stateBadge(record)}${typeof record.status === 'string' && html` <small class="muted" title="${record.status}">${bdi(record.status)}</small>`}`,
    },
    ...(readiness
      ? [{ title: 'Readiness', cell: ({ id }: RecordView) => readinessBadge(readiness.get(id)) }]
      : []),
  ];
}

function stateBadge(record: RecordFields): Html {
  if (isVoid({ fields: record })) return badge('void', 'neutral');
  return record.is_completed === true ? badge('completed', 'good') : badge('open', 'neutral');
}

function warningCount(count: number): HtmlValue {
  return count === 0 ? undefined : html`<span class="warning">${count}</span>`;
}
