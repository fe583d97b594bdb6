import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { referredIds } from '../../../domain/records/referredIds.ts';
import type { AccessRecorded } from '../../../modules/audit/recordAccess.ts';
import type { QueryPorts, RecordView } from '../../../modules/records/queries/readRecord.ts';
import { type RecordNames, readRecordNames } from '../../../modules/records/queries/recordNames.ts';
import { unlessBehind } from '../../components/recordQuery.ts';

/** The names of what records refer to, and the accesses to be recorded before they are shown. */
export interface ReferredNames {
  /** Undefined while the read model is too far behind. */
  names: RecordNames | undefined;
  accesses: AccessRecorded[];
}

/** Reads the names; `fields` are the referring fields to use, by default all of them. */
export async function readReferredNames(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  records: readonly Pick<RecordView, 'record'>[],
  fields?: readonly string[],
): Promise<ReferredNames> {
  const references = entry.references.filter(({ field }) => fields?.includes(field) ?? true);
  const kinds = [...new Set(references.map(({ kind }) => kind))];
  const referred = records.flatMap(({ record }) =>
    kinds.flatMap((kind) => referredIds({ ...entry, references }, record, kind).map((id) => ({ kind, id }))),
  );
  return readNames(ports, workspace, referred);
}

/** Reads the names of these records. */
export async function readNames(
  ports: QueryPorts,
  workspace: string,
  records: readonly { kind: string; id: string }[],
): Promise<ReferredNames> {
  const names = await unlessBehind(readRecordNames(ports, workspace, records));
  const accesses = (names?.shown ?? []).map(
    ({ kind, shown }): AccessRecorded => ({ action: 'record.list', kind, query: { fields: 'name' }, shown }),
  );
  return { names, accesses };
}
