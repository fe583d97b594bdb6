import { setImmediate as nextTurn } from 'node:timers/promises';
import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import { kindPartition } from '../../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../../domain/records/fold.ts';
import { UnreadableError, unavailable } from '../../../platform/errors.ts';
import type { Row } from '../../../storage/readModels.ts';
import { type Evolve, foldStream } from './foldStream.ts';
import { caughtUp } from './page.ts';
import type { QueryPorts } from './readRecord.ts';

/** Records held at once. */
const PART = 200;

/** Every record of a kind, as it was at a position or later. */
export interface Snapshot {
  position: Position;
  /**
   * Yields the records created up to the position, in the order of creation, several at a time; undefined for one
   * that has an event that cannot be read. `check` is called before each part. Rejects with what it throws, and with
   * `unavailable`, also when the read model has been rebuilt from the start meanwhile.
   */
  parts(check: () => void): AsyncIterable<(RecordState | undefined)[]>;
}

/** Resolves with a snapshot that includes every write acknowledged before the call. Rejects with `unavailable`. */
export async function snapshotOf(
  ports: QueryPorts,
  workspace: string,
  { kind }: CatalogEntry,
): Promise<Snapshot> {
  const position = await caughtUp(ports, recordsModel, 'snapshot');
  const place = { kind, partition: kindPartition(workspace, kind), position };
  return { position, parts: (check) => partsOf(ports, place, check) };
}

interface Place {
  kind: string;
  partition: string;
  position: Position;
}

async function* partsOf(
  ports: QueryPorts,
  { kind, partition, position }: Place,
  check: () => void,
): AsyncGenerator<(RecordState | undefined)[]> {
  const { readModels } = ports;
  for (let after: number | undefined; ; ) {
    check();
    const query = { partition, limit: PART, ...(after !== undefined && { after }) };
    const rows = await readModels.page(recordsModel, query);
    // A read model emptied meanwhile would end the snapshot as if it were complete.
    if ((await readModels.checkpoint(recordsModel)) < position) throw unavailable('snapshot');
    const part: (RecordState | undefined)[] = [];
    for (const row of rows) {
      if (row.order > position) break;
      const state = await stateOf(ports, kind, row);
      if (!state?.erased) part.push(state);
    }
    yield part;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PART || last.order > position) return;
    after = last.order;
    await nextTurn();
  }
}

/** Resolves with a row's state; for an incomplete row with its stream's, undefined where that cannot be read. */
async function stateOf(
  { eventLog }: QueryPorts,
  kind: string,
  row: Row<RecordState | Incomplete>,
): Promise<RecordState | undefined> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(kind, state, event);
  try {
    return bodyOf(row) ?? (await foldStream(eventLog, row.id, evolve));
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}
