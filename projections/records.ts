import type { RecordedEvent } from '../src/domain/events/event.ts';
import { RECORD_ERASED } from '../src/domain/events/recordErased.ts';
import {
  kindOfStream,
  kindPartition,
  partitionOfRecord,
  recordStream,
} from '../src/domain/events/streamNames.ts';
import { addedKinds, catalog, catalogEntry } from '../src/domain/records/catalog.ts';
import { listsOf } from '../src/domain/records/filters.ts';
import { evolveRecord, type RecordState } from '../src/domain/records/fold.ts';
import { encounter } from '../src/domain/records/kinds/encounter.ts';
import { patient } from '../src/domain/records/kinds/patient.ts';
import { referredIds } from '../src/domain/records/referredIds.ts';
import { visitLists } from '../src/domain/records/visits.ts';
import type { ModelName, Row } from '../src/storage/readModels.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Body of a row that says that a record refers, or once referred, to a patient. */
export interface PatientReference {
  /** Of the referring record. */
  stream: string;
}

type RecordsBody = RecordState | Incomplete | PatientReference;

const kindByEventType = new Map(catalog.map(({ eventType, kind }) => [eventType, kind]));

/**
 * Every record's current state, a row per stream; partitions list one workspace's records of one kind by creation, without erased
 * ones; these are also found by their last change, and on a list for each value by which their kind's lists are filtered,
 * encounters also on those of the visits to which they belong or belonged. In addition, a row for each patient to which a record
 * ever referred, so that everything that ever belonged to a patient can be found; it is written when the reference is new.
 */
export const records: Projection<RecordsBody> = {
  name: 'records',
  version: 6 + addedKinds,
  eventTypes: [...kindByEventType.keys(), RECORD_ERASED],
  rowId: (event) => event.stream,
  evolve(row, event) {
    const kind = kindByEventType.get(event.type) ?? kindOfStream(event.stream);
    const before = bodyOf(row) as RecordState | undefined;
    const state = evolveRecord(kind, before, event);
    const record: Row<RecordsBody> = {
      id: event.stream,
      partition: `${kindPartition(event.metadata.workspace, kind)}${state.erased ? ' erased' : ''}`,
      order: row?.order ?? event.position,
      position: event.position,
      body: state,
      ...(!state.erased && {
        lists: [...listsOf(catalogEntry(kind), state.fields), ...visitsOf(row, state)],
      }),
    };
    const patients = newPatients(event, before, state);
    return patients.length === 0
      ? record
      : [record, ...patients.map((id) => referenceRow(event, record, id))];
  },
  incomplete: (row, { stream, position }) => ({
    id: stream,
    partition: partitionOfRecord(stream),
    order: row?.order ?? position,
    position,
    body: incompleteBody,
    lists: row?.lists ?? [],
  }),
};

function visitsOf(row: Row | undefined, { kind, fields }: RecordState): string[] {
  return kind === encounter.kind ? visitLists(row?.lists, fields) : [];
}

/**
 * Returns the patients to which a record refers since the event; for a tombstone those that it names, as what named them is gone.
 */
function newPatients(
  { type, data }: RecordedEvent,
  before: RecordState | undefined,
  { kind, fields }: RecordState,
): string[] {
  if (type === RECORD_ERASED) return (data.patient_ids as string[] | undefined) ?? [];
  const entry = catalogEntry(kind);
  const earlier = before ? referredIds(entry, before.fields, patient.kind) : [];
  return referredIds(entry, fields, patient.kind).filter((id) => !earlier.includes(id));
}

function referenceRow(
  { stream, metadata, position }: RecordedEvent,
  { order }: Row,
  patientId: string,
): Row<PatientReference> {
  const partition = referrersPartition(recordStream(metadata.workspace, patient.kind, patientId));
  return { id: `${partition} ${stream}`, partition, order, position, body: { stream } };
}

/**
 * Returns the partition that lists the records that refer, or once referred, to the patient of a stream, including erased ones.
 */
export function referrersPartition(patientStream: string): string {
  return `${patientStream} referrers`;
}

export const recordsModel = modelName(records) as ModelName<RecordState | Incomplete>;

/** The same read model, for the rows of `referrersPartition`. */
export const patientReferencesModel = modelName(records) as ModelName<PatientReference>;
