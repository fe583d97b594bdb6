import type { AccessRecorded } from '../../audit/recordAccess.ts';
import type { QueryPorts, RecordView } from '../../reads/readRecord.ts';
import { type RecordNames, readRecordNames } from '../../reads/recordNames.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import { referredIds } from '../../records/referredIds.ts';
import { unlessBehind } from './recordQuery.ts';

/** The names of what records refer to, and the accesses to be recorded before they are shown. */
export interface ReferredNames {
  /** Undefined while the read model is too far behind. */
  names: RecordNames | undefined;
  accesses: AccessRecorded[];
}

export async function readReferredNames(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  records: readonly Pick<RecordView, 'record'>[],
): Promise<ReferredNames> {
  const kinds = [...new Set(entry.references.map(({ kind }) => kind))];
  const referred = records.flatMap(({ record }) =>
    kinds.flatMap((kind) => referredIds(entry, record, kind).map((id) => ({ kind, id }))),
  );
  const names = await unlessBehind(readRecordNames(ports, workspace, referred));
  const accesses = (names?.shown ?? []).map(
    ({ kind, shown }): AccessRecorded => ({ action: 'record.list', kind, query: { fields: 'name' }, shown }),
  );
  return { names, accesses };
}
