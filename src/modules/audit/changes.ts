import type { Position, Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { csvLine } from '../../platform/csv.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { type UndoneRecord, type UndoPorts, undoWrites } from '../records/commands/undo.ts';
import {
  type ChangedField,
  type ChangedRecord,
  type DifferenceSelection,
  readChanges,
  readDifferences,
} from '../records/queries/changes.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from '../records/queries/paging.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import type { SelectedRecord, WriteSelection } from '../records/queries/selectedWrites.ts';
import { versionsAccesses } from './accesses.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from './recordAccess.ts';
import { positionBefore } from './trail.ts';

/** The records and documents with selected writes, in the order of the first write of each. */
export interface SelectedList<Item extends SelectedRecord> {
  /** What the audit trail calls a read of it. */
  action: AccessRecorded['action'];
  selection: WriteSelection;
  /** Yields the items whose first selected write is after a position, some at a time. Rejects with `unavailable`. */
  read(after: Position): AsyncGenerator<Item[]>;
}

/** Returns what the selected writes of a workspace changed, as `readChanges` yields it. */
export const changesList = (
  eventLog: EventLog,
  { workspace }: Caller,
  selection: WriteSelection,
): SelectedList<ChangedRecord> => ({
  ...{ action: 'record.changes', selection },
  read: (after) => readChanges(eventLog, workspace, selection, after),
});

/** Returns what is different in a workspace at two moments, as `readDifferences` yields it. */
export const differencesList = (
  eventLog: EventLog,
  { workspace }: Caller,
  selection: DifferenceSelection,
): SelectedList<ChangedRecord> => ({
  ...{ action: 'record.diff', selection },
  read: (after) => readDifferences(eventLog, workspace, selection, after),
});

/** Returns what an undo of the selected writes would do, or does as it is read, as `undoWrites` yields it. */
export const undoList = (
  ports: UndoPorts,
  caller: Caller,
  selection: WriteSelection,
  { dryRun }: { dryRun: boolean },
): SelectedList<UndoneRecord> => ({
  ...{ action: 'record.undo', selection },
  read: (after) => undoWrites(ports, caller, selection, { dryRun, after }),
});

/** Returns the access that a read of a list is, for the audit trail. */
export const accessTo = ({ action, selection }: SelectedList<SelectedRecord>) => ({
  action,
  query: { ...selection },
});

/** Yields all of a list, for what shows no record of it: the audit trail has nothing of it. Rejects with `unavailable`. */
export async function* listParts<Item extends SelectedRecord>(
  readModels: ReadModels,
  { workspace }: Caller,
  { selection: { since }, read }: SelectedList<Item>,
): AsyncGenerator<Item[]> {
  yield* read(since === undefined ? 0 : await positionBefore(readModels, workspace, since));
}

/** Yields all of a list; the audit trail has the versions of each part before it is yielded. Rejects with `unavailable`. */
export async function* shownParts<Item extends SelectedRecord>(
  { eventLog, readModels }: QueryPorts,
  caller: Caller,
  list: SelectedList<Item>,
): AsyncGenerator<Item[]> {
  for await (const part of listParts(readModels, caller, list)) {
    // The writes of the caller have ids of their own: the first access has that of the request.
    for (const access of versionsAccesses(accessTo(list), part))
      await recordFurtherAccess(eventLog, caller, access);
    yield part;
  }
}

/**
 * Resolves with all of a list as `shownParts` yields it, once the audit trail has the request. Rejects with `unavailable`, and with
 * `reason_required`.
 */
export async function recordedParts<Item extends SelectedRecord>(
  ports: QueryPorts,
  caller: Caller,
  list: SelectedList<Item>,
): Promise<AsyncGenerator<Item[]>> {
  await recordAccess(ports.eventLog, caller, accessTo(list));
  return shownParts(ports, caller, list);
}

/**
 * Resolves with one page of a list, whose cost does not depend on what is after it; the audit trail has the request, and the versions
 * that the page shows. Rejects with `unavailable`, and with `validation_failed` for an invalid token.
 */
export async function recordedPage<Item extends SelectedRecord>(
  { eventLog, readModels }: QueryPorts,
  caller: Caller,
  list: SelectedList<Item>,
  { limit, pageToken }: PageRequest,
): Promise<Page<Item>> {
  const access = accessTo(list);
  // A list without an end goes on to the present moment, which is another one on each page.
  const scope = [access.action, caller.workspace, { ...access.query, until: undefined }];
  const parts =
    pageToken === undefined ? listParts(readModels, caller, list) : list.read(decodeToken(pageToken, scope));
  const found: Item[] = [];
  for await (const part of parts) {
    found.push(...part);
    if (found.length > limit) break;
  }
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  await recordAccess(eventLog, caller, access, ...versionsAccesses(access, items));
  return { items, next_page_token: last ? encodeToken(last.first, scope) : null };
}

export const changeFormats = ['csv', 'json'] as const;
export type ChangeFormat = (typeof changeFormats)[number];

const header = [
  ...['kind', 'id', 'document_id', 'created', 'erased', 'unreadable'],
  ...['field', 'from', 'to', 'version', 'changed_at'],
  ...['principal_type', 'principal_id', 'principal_name'],
  ...[
    'since_version',
    'since_at',
    'since_principal_type',
    'since_principal_id',
    'since_principal_name',
    'now',
  ],
];

/**
 * Yields what writes changed as a file, several lines at a time: CSV with one line per field, and one for a record that was erased
 * or cannot be read; or a JSON array of records. It has values of records. Rejects as `parts` does, and with `unavailable`.
 */
export async function* changesText(
  parts: AsyncIterable<readonly ChangedRecord[]>,
  names: PrincipalNames,
  format: ChangeFormat,
): AsyncGenerator<string> {
  yield format === 'csv' ? csvLine(header) : '[';
  let isFirst = true;
  for await (const records of parts) {
    await names.learn(
      records.flatMap(({ fields }) =>
        fields.flatMap((one) => [one.principal, one.since?.principal ?? []].flat()),
      ),
    );
    const nameOf = names.nameOf.bind(names);
    for (const record of records) {
      const item = () => `${isFirst ? '' : ','}\n  ${JSON.stringify(itemOf(record, nameOf))}`;
      yield format === 'csv' ? linesOf(record, nameOf) : item();
      isFirst = false;
    }
  }
  if (format === 'json') yield '\n]\n';
}

export type NameOf = (principal: Principal) => string | undefined;

function linesOf(record: ChangedRecord, nameOf: NameOf): string {
  const { kind, id, document_id, fields } = record;
  const about = [kind, id, document_id, ...[record.created, record.erased, record.unreadable].map(yesOrNo)];
  const cells = ({ field, from, to, version, at, principal, since }: ChangedField) => [
    ...[field, cell(from), cell(to), version, at, principal.type, principal.id, nameOf(principal)],
    ...[since?.version, since?.at],
    ...[since?.principal.type, since?.principal.id, since && nameOf(since.principal)],
    since && cell(since.value),
  ];
  const lines = fields.length === 0 ? [about] : fields.map((field) => [...about, ...cells(field)]);
  return lines.map((line) => csvLine([...line, ...Array(header.length - line.length).fill('')])).join('');
}

const yesOrNo = (is: boolean) => (is ? 'yes' : 'no');

/** The cell of a value; empty for none. */
export const cell = (value: unknown) => (value === null ? '' : String(value));

/** Returns a write with what its sender is called. */
export function withName<Write extends { principal: Principal }>(write: Write, nameOf: NameOf) {
  return { ...write, principal: { ...write.principal, name: nameOf(write.principal) ?? null } };
}

function itemOf({ versions, first: _first, fields, ...record }: ChangedRecord, nameOf: NameOf) {
  const named = fields.map(({ since, ...field }) => ({
    ...withName(field, nameOf),
    ...(since && { since: withName(since, nameOf) }),
  }));
  return { ...record, versions: versions.map(({ version }) => version), fields: named };
}
