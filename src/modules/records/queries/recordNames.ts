import { bodyOf } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Shown } from '../../../domain/events/shown.ts';
import { kindOfStream, recordStream } from '../../../domain/events/streamNames.ts';
import { recordName } from '../../../domain/records/schema/recordName.ts';
import { rangesOf } from './listPage.ts';
import { caughtUp } from './page.ts';
import type { QueryPorts } from './readRecord.ts';

/** What people call some records. */
export interface RecordNames {
  /** Undefined where the record has no name, does not exist, or was erased. */
  nameOf(kind: string, id: string): string | undefined;
  /** For each kind that is named here: where in the log those records begin, for the audit trail. */
  shown: { kind: string; shown: Shown }[];
}

/**
 * Resolves with the names of these records, as of every write acknowledged before the call. Rejects with
 * `unavailable`.
 */
export async function readRecordNames(
  ports: QueryPorts,
  workspace: string,
  records: readonly { kind: string; id: string }[],
): Promise<RecordNames> {
  const streams = [...new Set(records.map(({ kind, id }) => recordStream(workspace, kind, id)))];
  if (streams.length > 0) await caughtUp(ports, recordsModel, 'list of records');
  const rows = await ports.readModels.load(recordsModel, streams);
  const names = new Map<string, string>();
  for (const row of rows) {
    const state = bodyOf(row);
    const name = state && !state.erased ? recordName(state.fields) : undefined;
    if (name !== undefined) names.set(row.id, name);
  }
  const named = Map.groupBy(
    rows.filter(({ id }) => names.has(id)),
    ({ id }) => kindOfStream(id),
  );
  return {
    nameOf: (kind, id) => names.get(recordStream(workspace, kind, id)),
    shown: [...named].map(([kind, some]) => ({
      kind,
      shown: { ranges: rangesOf(some, true), count: some.length },
    })),
  };
}
