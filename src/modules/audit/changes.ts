import type { Position, Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { csvLine } from '../../platform/csv.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { type UndoneRecord, type UndoPorts, undoWrites } from '../records/commands/undo.ts';
import { type ChangedField, type ChangedRecord, readChanges } from '../records/queries/changes.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import type { WriteSelection } from '../records/queries/selectedWrites.ts';
import { versionsAccesses } from './accesses.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from './recordAccess.ts';
import { positionBefore } from './trail.ts';

/**
 * Yields what the selected writes of the caller's workspace changed, as `readChanges` does; the audit trail has the request, and the
 * versions of each part before it is yielded. Rejects with `unavailable`.
 */
export async function* recordedChanges(
  { eventLog, readModels }: QueryPorts,
  caller: Caller,
  selection: WriteSelection,
): AsyncGenerator<ChangedRecord[]> {
  const about = { action: 'record.changes', query: { ...selection } } as const;
  await recordAccess(eventLog, caller, about);
  const after = await startOf(readModels, caller, selection);
  for await (const part of readChanges(eventLog, caller.workspace, selection, after)) {
    await recordVersions(eventLog, caller, about, part);
    yield part;
  }
}

/**
 * Undoes the selected writes, or yields what would be done, as `undoWrites` does, with the audit trail as for `recordedChanges`.
 * Rejects with `unavailable`.
 */
export async function* recordedUndo(
  ports: UndoPorts,
  caller: Caller,
  selection: WriteSelection,
  { dryRun }: { dryRun: boolean },
): AsyncGenerator<UndoneRecord[]> {
  const about = { action: 'record.undo', query: { ...selection } } as const;
  await recordAccess(ports.eventLog, caller, about);
  const after = await startOf(ports.readModels, caller, selection);
  for await (const part of undoWrites(ports, caller, selection, { dryRun, after })) {
    const versions = part.map(({ kind, undone }) => ({ kind, versions: undone }));
    await recordVersions(ports.eventLog, caller, about, versions);
    yield part;
  }
}

/** Returns where the log is read from: nothing that is selected is before. */
export async function startOf(
  readModels: ReadModels,
  { workspace }: Caller,
  { since }: WriteSelection,
): Promise<Position> {
  return since === undefined ? 0 : positionBefore(readModels, workspace, since);
}

/** The writes of the caller have ids of their own: the first access has that of the request. */
export async function recordVersions(
  eventLog: UndoPorts['eventLog'],
  caller: Caller,
  about: Pick<AccessRecorded, 'action' | 'query'>,
  part: Parameters<typeof versionsAccesses>[1],
): Promise<void> {
  for (const access of versionsAccesses(about, part)) await recordFurtherAccess(eventLog, caller, access);
}

export const changeFormats = ['csv', 'json'] as const;
export type ChangeFormat = (typeof changeFormats)[number];

const header = [
  ...['kind', 'id', 'document_id', 'created', 'erased', 'field', 'from', 'to', 'version', 'changed_at'],
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
 * Yields what writes changed as a file, several lines at a time: CSV with one line per field, and one for a record that was erased;
 * or a JSON array of records. It has values of records. Rejects as `parts` does, and with `unavailable`.
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

function linesOf({ kind, id, document_id, created, erased, fields }: ChangedRecord, nameOf: NameOf): string {
  const about = [kind, id, document_id, yesOrNo(created), yesOrNo(erased)];
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

function itemOf({ versions, fields, ...record }: ChangedRecord, nameOf: NameOf) {
  const named = fields.map(({ since, ...field }) => ({
    ...withName(field, nameOf),
    ...(since && { since: withName(since, nameOf) }),
  }));
  return { ...record, versions: versions.map(({ version }) => version), fields: named };
}
