import type { Position, RecordedEvent } from '../src/domain/events/event.ts';
import { erasureStep, RECORD_ERASED } from '../src/domain/events/payloads.ts';
import {
  encounterOfDocument,
  kindOfStream,
  kindPartition,
  partitionOfRecord,
  recordStream,
} from '../src/domain/events/streams.ts';
import { upcast } from '../src/domain/events/upcasting.ts';
import { addedKinds, catalog, catalogEntry, referredIds } from '../src/domain/records/catalog.ts';
import { type DocumentState, documentEventTypes, evolveDocument } from '../src/domain/records/document.ts';
import { evolveRecord, type RecordState, visitLists } from '../src/domain/records/fold.ts';
import { encounter } from '../src/domain/records/kinds/encounter.ts';
import { patient } from '../src/domain/records/kinds/patient.ts';
import { hasSameTerms, listsOf, recordTerms } from '../src/domain/records/searchIndex.ts';
import type { ModelName, Row, SearchTerms } from '../src/storage/readModels.ts';
import { bodyOf, type Incomplete, incompleteBody, modelName, type Projection } from './projection.ts';

/** Every document's current state, a row per stream; partitions list one encounter's documents by creation. */
export const documents: Projection<DocumentState | Incomplete> = {
  name: 'documents',
  purpose: 'Lists of documents',
  version: 3,
  eventTypes: documentEventTypes,
  rowId: (event) => event.stream,
  evolve(row, event) {
    const state = evolveDocument(bodyOf(row), event);
    const encounter = encounterOfDocument(event.stream);
    return {
      id: event.stream,
      partition: partitionOf(encounter, state),
      order: row?.order ?? event.position,
      position: event.position,
      body: state,
    };
  },
  incomplete: (row, { stream, position }) => ({
    id: stream,
    partition: encounterOfDocument(stream),
    order: row?.order ?? position,
    position,
    body: incompleteBody,
  }),
};

/** Returns the partitions that list an encounter's documents: the existing ones, and the removed ones. */
export function documentPartitions(encounter: string): string[] {
  return [encounter, `${encounter} removed`];
}

/** Returns the partitions that list all documents that an encounter ever had, with erased ones last. */
export function everyDocumentPartition(encounter: string): string[] {
  return [...documentPartitions(encounter), `${encounter} erased`];
}

/** Those that no longer exist are kept separate, and are still found when the encounter is erased. */
function partitionOf(encounter: string, state: DocumentState): string {
  if (!state.removed) return encounter;
  return `${encounter} ${state.erased ? 'erased' : 'removed'}`;
}

export const documentsModel = modelName(documents);

/** Empty: a row's partition says to which patient the encounter belongs; the read model of records has the rest. */
type Empty = Record<never, never>;

/**
 * The encounters of each patient, a row per stream; partitions are named by the patient's stream. An upsert names the patient; a
 * patch that does not name one leaves it as it is. Erased ones are kept separate.
 */
export const encounters: Projection<Empty | Incomplete> = {
  name: 'encounters',
  purpose: 'Encounters of a patient, for retention and erasure',
  version: 2,
  eventTypes: ['EncounterUpserted', RECORD_ERASED],
  rowId: (event) => event.stream,
  evolve(row, event) {
    const { stream, position, metadata } = event;
    const { data, type } = upcast(event);
    const erased = `${metadata.workspace} erased`;
    const isOf = type === RECORD_ERASED ? undefined : (data.patient_id as string | undefined);
    const partition =
      isOf !== undefined
        ? recordStream(metadata.workspace, 'patient', isOf)
        : erasureStep(event) === 'done'
          ? erased
          : (row?.partition ?? erased);
    return { id: stream, partition, order: row?.order ?? position, position, body: {} };
  },
  incomplete: (row, { stream, position }) => ({
    id: stream,
    // If its first event cannot be read, nobody can tell whose it is.
    partition: row?.partition ?? 'unknown',
    order: row?.order ?? position,
    position,
    body: incompleteBody,
  }),
};

export const encountersModel = modelName(encounters);

/** Body of a row that says that a record refers, or once referred, to a patient. */
interface PatientReference {
  /** Of the referring record. */
  stream: string;
}

type RecordsBody = RecordState | Incomplete | PatientReference | Empty;

/** The versions of a record whose states are kept are this far apart: from the nearest, any version is folded at once. */
export const KEPT_EVERY = 500;

/** Returns the id of the row that keeps the state of a record at a version. */
export function keptStateId(stream: string, version: number): string {
  return `${stream} version ${version}`;
}

function keptRow(
  { stream, position }: Pick<RecordedEvent, 'stream' | 'position'>,
  version: number,
  body: RecordState | Empty,
): Row<RecordState | Empty> {
  const [id, partition] = [keptStateId(stream, version), `${stream} versions`];
  return { id, partition, order: version, position, body };
}

const kindByEventType = new Map(catalog.map(({ eventType, kind }) => [eventType, kind]));

/**
 * Every record's current state, a row per stream; partitions list one workspace's records of one kind by creation, without erased
 * ones; these are also found by their last change, and on a list for each value by which their kind's lists are filtered,
 * encounters also on those of the visits to which they belong or belonged, and by their search terms. In addition, a row for each patient to which a record
 * ever referred, so that everything that ever belonged to a patient can be found; it is written when the reference is new. And a row for the state at
 * every 500th version, which an erasure empties.
 */
export const records: Projection<RecordsBody> = {
  name: 'records',
  purpose: 'Lists of records, filters and names',
  version: 8 + addedKinds,
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
        search: termsAfter(row?.search, before, state, event.position),
      }),
    };
    const more: Row<RecordsBody>[] = newPatients(event, before, state).map((id) =>
      referenceRow(event, record, id),
    );
    if (state.version % KEPT_EVERY === 0 && !erasureStep(event))
      more.push(keptRow(event, state.version, state));
    return more.length === 0 ? record : [record, ...more];
  },
  emptied(event) {
    if (erasureStep(event) !== 'done') return [];
    const count = Math.floor(event.revision / KEPT_EVERY);
    return Array.from({ length: count }, (_, at) => keptRow(event, (at + 1) * KEPT_EVERY, {}));
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

/** Unchanged terms keep their place, and cost nothing. */
function termsAfter(
  earlier: SearchTerms | undefined,
  before: RecordState | undefined,
  { kind, fields }: RecordState,
  position: Position,
): SearchTerms {
  const entry = catalogEntry(kind);
  if (earlier && before && hasSameTerms(entry, before.fields, fields)) return earlier;
  return { terms: recordTerms(entry, fields), since: position };
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

/** The same read model, for the rows that keep the states of earlier versions; an erasure empties them. */
export const keptStatesModel = modelName(records) as ModelName<RecordState | Empty>;
