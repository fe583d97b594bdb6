import type { CatalogEntry, RecordFields } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { qualityWarnings } from '../../domain/records/qualityWarnings.ts';
import { recordName } from '../../domain/records/schema/recordName.ts';
import { isVoid } from '../../modules/readiness/rules/faults.ts';
import type { ReadinessState } from '../../modules/readiness/rules/findings.ts';
import type { RecordView } from '../../modules/records/queries/readRecord.ts';
import type { RecordNames } from '../../modules/records/queries/recordNames.ts';
import { fieldLabel } from './fieldLabel.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { readinessBadge } from './readinessBadge.ts';
import { fieldValue } from './recordFields.ts';
import { recordPath } from './recordPaths.ts';
import { pluralTitle } from './recordQuery.ts';
import { referredLink } from './referredLink.ts';
import { type TableColumn, table } from './table.ts';
import { badge, code, empty, time } from './text.ts';

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
  const columns: Columns = [
    {
      title: 'ID',
      isHeader: true,
      cell: ({ id }) => html`<a href="/dashboard${recordPath(workspace, entry.kind, id)}${query}">${id}</a>`,
    },
    ...(entry.kind === encounter.kind ? encounterColumns(shown) : namingColumns(entry)),
    { title: 'Last change', ...sortedBy('updated', sorting), cell: ({ updated_at }) => time(updated_at) },
    { title: 'Warnings', cell: ({ record }) => warningCount(qualityWarnings(entry, record, record).length) },
    ...(partOf === undefined ? ageColumns(sorting) : []),
  ];
  return table(pluralTitle(entry), columns, records);
}

function ageColumns(sorting: RecordTable['sorting']): Columns {
  return [
    { title: 'Version', cell: ({ version }) => version },
    { title: 'Created', ...sortedBy('created', sorting), cell: ({ created_at }) => time(created_at) },
  ];
}

function sortedBy(by: keyof typeof sortOf, sorting: RecordTable['sorting']): Pick<Columns[number], 'sort'> {
  if (sorting === undefined) return {};
  const { sort, order } = sortOf[by];
  const isSorted = sorting.sort === sort;
  return { sort: { href: sorting.address(sort), ...(isSorted && { order }) } };
}

function namingColumns({ kind, listedBy }: CatalogEntry): Columns {
  if (listedBy !== undefined) {
    return [{ title: fieldLabel(listedBy), cell: ({ record }) => fieldValue(record[listedBy]) }];
  }
  const name = { title: 'Name', cell: ({ record }: RecordView) => recordName(record) };
  if (kind !== patient.kind) return [name];
  return [name, { title: 'Date of birth', cell: ({ record }) => fieldValue(record.date_of_birth) }];
}

function encounterColumns({ workspace, names, readiness, partOf }: RecordTable): Columns {
  return [
    { title: 'Date of service', cell: ({ record }) => fieldValue(record.date_of_service) },
    {
      title: 'State',
      cell: ({ record }) =>
        html`${stateBadge(record)}${
          typeof record.status === 'string' && html`<br><small class="muted">${record.status}</small>`
        }`,
    },
    ...(readiness
      ? [{ title: 'Readiness', cell: ({ id }: RecordView) => readinessBadge(readiness.get(id)) }]
      : []),
    ...referredColumns
      .filter(([, kind]) => kind !== partOf)
      .map(([title, kind, field]) => ({
        title,
        cell: ({ record }: RecordView) => referredLink(workspace, kind, record[field], names),
      })),
  ];
}

function stateBadge(record: RecordFields): Html {
  if (isVoid({ fields: record })) return badge('void', 'neutral');
  return record.is_completed === true ? badge('completed', 'good') : badge('open', 'neutral');
}

function warningCount(count: number): HtmlValue {
  return count === 0 ? undefined : html`<span class="warning">${count}</span>`;
}
