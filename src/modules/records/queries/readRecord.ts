import { bodyOf } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/catalog.ts';
import { evolveRecord, type RecordState, viewRecord } from '../../../domain/records/fold.ts';
import { gone, notFound, ServiceError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { type Evolve, foldStream } from './foldStream.ts';

export interface QueryPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/** A record as callers read it. */
export interface RecordView {
  id: string;
  version: number;
  created_at: string;
  updated_at: string;
  record: RecordFields;
}

export function toRecordView(state: RecordState): RecordView {
  const record = viewRecord(state);
  return {
    id: record.id,
    version: state.version,
    created_at: state.createdAt,
    updated_at: state.updatedAt,
    record,
  };
}

/**
 * Resolves with a record as of every write acknowledged before the call: the read model's state, plus whatever its
 * stream holds beyond that. Rejects with `not_found` when it does not exist, `gone` when it was erased, `unreadable`
 * when it has an event that cannot be read.
 */
export async function readRecord(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
): Promise<RecordView> {
  const state = await currentState(ports, entry.kind, recordStream(workspace, entry.kind, id));
  if (state === undefined) throw notFound(entry.title);
  if (state.erased) throw gone(entry.title, state.updatedAt);
  return toRecordView(state);
}

/**
 * Resolves with the fold of a record's whole stream, as of every write acknowledged before the call: also for an
 * erased record; undefined when there never was one. Rejects with `unreadable` when it has an event that cannot be
 * read.
 */
export async function currentState(
  { eventLog, readModels }: QueryPorts,
  kind: string,
  stream: string,
): Promise<RecordState | undefined> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(kind, state, event);
  const projected = await projectedState(readModels, stream);
  return foldStream(eventLog, stream, evolve, { state: projected });
}

async function projectedState(readModels: ReadModels, stream: string): Promise<RecordState | undefined> {
  try {
    const [row] = await readModels.load(recordsModel, [stream]);
    return bodyOf(row);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return undefined;
    throw error;
  }
}
