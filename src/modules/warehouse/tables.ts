import { createHash } from 'node:crypto';
import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { unwrapped } from '../../domain/records/schema/fields.ts';
import { nestedIn } from '../../domain/records/schema/kind.ts';
import type { Column, ColumnType, Table } from '../../storage/warehouse.ts';
import {
  type EventView,
  feedEventTypes,
  readinessSchemas,
  type StreamedEventType,
} from '../eventStream/cloudEvents.ts';
import { shownFieldNames } from '../eventStream/deidentification.ts';
import { auditColumns } from '../integrity/export.ts';

const column = (name: string, type: ColumnType = 'text'): Column => ({ name, type });

/** What the tables of events say of each event, before its fields. */
const eventColumns = {
  narrowed: [
    column('position', 'bigint'),
    column('id'),
    column('version', 'integer'),
    column('type'),
    column('recorded_at', 'timestamp'),
    column('event_id'),
    column('changed'),
  ],
  get full() {
    return [
      ...this.narrowed,
      ...['principal_type', 'principal_id', 'source_id', 'request_id', 'reverts'].map((name) => column(name)),
    ];
  },
};

/** What the tables of records say of each record, before its fields. */
const recordColumns = [
  column('id'),
  column('version', 'integer'),
  column('created_at', 'timestamp'),
  column('updated_at', 'timestamp'),
];

const documentFields: Column[] = [
  ...['encounter_id', 'document_id', 'category', 'filename', 'format'].map((name) => column(name)),
  column('size', 'integer'),
  column('sha256'),
];

/** Columns of the audit trail that are not in the table of accesses: names of principals may change. */
const NOT_IN_ACCESS = 'principal_name';
const accessTypes: Record<string, ColumnType> = {
  position: 'bigint',
  recorded_at: 'timestamp',
  version: 'integer',
  status: 'integer',
  count: 'integer',
  shown_count: 'integer',
};

/** The table of accesses to the workspace. */
export const accessTable: Table = {
  name: 'access',
  type: 'log',
  columns: auditColumns
    .filter((name) => name !== NOT_IN_ACCESS)
    .map((name) => column(name, accessTypes[name] ?? 'text')),
};

/** The name of the column for a field, given its dotted name. */
export function columnOf(field: string): string {
  return field.replaceAll('.', '_');
}

function fieldColumns(shape: z.ZodRawShape): Column[] {
  return Object.entries(shape).flatMap(([name, field]) => {
    const inner = nestedIn(field as z.ZodType);
    if (inner)
      return fieldColumns(inner.schema.shape).map((one) => ({ ...one, name: `${name}_${one.name}` }));
    return [column(name, unwrapped(field as z.ZodType) instanceof z.ZodBoolean ? 'boolean' : 'text')];
  });
}

function ofView(view: EventView, columns: Column[], types: readonly StreamedEventType[]): Column[] {
  if (view === 'full') return columns;
  const shown = new Set(types.flatMap((type) => shownFieldNames(view, type)).map(columnOf));
  return columns.filter(({ name }) => shown.has(name));
}

/** The tables of a kind of record, of documents, or of readiness. */
export interface SubjectTables {
  /** One row for each record that exists; none for readiness. */
  current?: Table;
  /** One row for each event. */
  log: Table;
}

function tablesOf(kind: string, name: string, fields: Column[], view: EventView): SubjectTables {
  const shown = ofView(
    view,
    fields.filter((one) => one.name !== 'id'),
    feedEventTypes.filter((one) => one.kind === kind),
  );
  const method = view === 'deidentified' ? [column('deidentification')] : [];
  const log = (logName: string): Table => ({
    name: logName,
    type: 'log',
    columns: [...eventColumns[view === 'full' ? view : 'narrowed'], ...method, ...shown],
  });
  if (kind === 'readiness') return { log: log(name) };
  return {
    current: { name, type: 'current', columns: [...recordColumns, ...method, ...shown] },
    log: log(`${kind}_versions`),
  };
}

function readinessFields(): Column[] {
  const names = Object.values(readinessSchemas).flatMap(({ shape }) => Object.keys(shape));
  return [...new Set(names)].map((name) => column(name));
}

/** Returns the tables of a view, by kind: those of records, of `document` and of `readiness`. */
export function subjectTables(view: EventView): ReadonlyMap<string, SubjectTables> {
  return new Map([
    ...catalog.map(
      ({ kind, plural, schema }) => [kind, tablesOf(kind, plural, fieldColumns(schema.shape), view)] as const,
    ),
    ['document', tablesOf('document', 'documents', documentFields, view)] as const,
    ['readiness', tablesOf('readiness', 'readiness', readinessFields(), view)] as const,
  ]);
}

/** Returns all tables of a view: only the full one has that of accesses. */
export function tablesOfView(view: EventView): Table[] {
  const subjects = [...subjectTables(view).values()].flatMap(({ current, log }) =>
    current === undefined ? [log] : [current, log],
  );
  return view === 'full' ? [...subjects, accessTable] : subjects;
}

/** Returns a digest of tables with their columns. */
export function schemaDigest(tables: readonly Table[]): string {
  return createHash('sha256').update(JSON.stringify(tables)).digest('hex').slice(0, 16);
}
