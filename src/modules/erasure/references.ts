import { bodyOf, isIncomplete } from '../../../projections/projection.ts';
import {
  documentPartitions,
  documentsModel,
  encountersModel,
  recordsModel,
} from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { kindPartition, recordIdOf, recordStream } from '../../domain/events/streams.ts';
import { catalog, catalogEntry, referredIds } from '../../domain/records/catalog.ts';
import { evolveRecord, type RecordState, viewRecord } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import { allRows, caughtUp } from '../records/queries/paging.ts';
import { type Evolve, foldStream, mergedPatients, type QueryPorts } from '../records/queries/records.ts';

/** The stream of a document, and the positions of its first and its last event. */
interface FoundDocument {
  stream: string;
  since: Position;
  position: Position;
}

/**
 * Returns all documents of an encounter, given its own stream: including removed documents, excluding erased ones. As of the read
 * model's state. Rejects with `unavailable`.
 */
export async function findDocuments(readModels: ReadModels, encounter: string): Promise<FoundDocument[]> {
  const found: FoundDocument[] = [];
  for (const partition of documentPartitions(encounter)) {
    const rows = allRows(readModels, documentsModel, partition);
    for await (const { id: stream, order: since, position } of rows) found.push({ stream, since, position });
  }
  return found;
}

/** Kinds whose read models show what refers to a patient. */
const ofPatients: readonly string[] = [encounter.kind, patient.kind];

/** A record that refers to another one. */
export interface Referrer {
  kind: string;
  id: string;
}

/** The same, with the positions of its first and its last event. */
interface FoundReferrer extends Referrer {
  since: Position;
  position: Position;
}

/**
 * Returns all records of a workspace that refer to the given one, those that refer to a patient merged into it first, as of every
 * write acknowledged before the call. Of those that cannot be read, only encounters and patients that are known to refer to a patient
 * are included. Rejects with `unavailable`.
 */
export async function findReferrers(
  ports: QueryPorts,
  workspace: string,
  kind: string,
  id: string,
): Promise<FoundReferrer[]> {
  const found: FoundReferrer[] = [];
  await Promise.all(
    (kind === 'patient' ? [recordsModel, encountersModel] : [recordsModel]).map((model) =>
      caughtUp(ports, model),
    ),
  );
  for await (const { entry, row } of referrerRows(ports.readModels, workspace, kind, id)) {
    if (isIncomplete(row) && !isOfPatient(kind, entry)) continue;
    const { id, order: since, position } = row;
    found.push({ kind: entry.kind, id: recordIdOf(id), since, position });
  }
  return found;
}

/**
 * Yields the rows of the records that refer to a record, given by its stream; for a patient, also those that refer to patients
 * merged into it, before that patient's own. Includes records that cannot be read and may refer to it. As of the read models'
 * state when the iteration begins. Rejects with `unavailable`.
 */
export async function* referrerRows(
  readModels: ReadModels,
  workspace: string,
  kind: string,
  id: string,
): AsyncGenerator<{ entry: CatalogEntry; row: Row }> {
  if (kind === patient.kind) {
    yield* patientRows(readModels, workspace, id);
  }
  for (const entry of catalog) {
    if (!refersTo(entry, kind) || isOfPatient(kind, entry)) continue;
    for await (const row of allRows(readModels, recordsModel, kindPartition(workspace, entry.kind))) {
      const state = bodyOf(row);
      if (state === undefined || referredIds(entry, viewRecord(state), kind).includes(id))
        yield { entry, row };
    }
  }
}

async function* patientRows(
  readModels: ReadModels,
  workspace: string,
  id: string,
): AsyncGenerator<{ entry: CatalogEntry; row: Row }> {
  const encountersOf = (one: string) =>
    allRows(readModels, encountersModel, recordStream(workspace, patient.kind, one));
  for (const merged of await mergedPatients(readModels, workspace, id)) {
    for await (const row of encountersOf(recordIdOf(merged.id))) yield { entry: encounter, row };
    yield { entry: patient, row: merged };
  }
  for await (const row of encountersOf(id)) yield { entry: encounter, row };
}

/** Whether read models show which records of a kind refer to one of another kind, also those that cannot be read. */
function isOfPatient(kind: string, { kind: of }: CatalogEntry): boolean {
  return kind === patient.kind && ofPatients.includes(of);
}

/** Whether records of a kind may refer to those of another kind. */
export function refersTo({ references }: CatalogEntry, kind: string): boolean {
  return references.some((reference) => reference.kind === kind);
}

/**
 * Returns those referrers of a patient, as `findReferrers` does, that also referred to it, or to a patient then merged into it, at a
 * position: what came to it since belongs to others. The log is only asked where one of them was changed since. Rejects with
 * `unavailable`.
 */
export async function referringAt(
  eventLog: EventLog,
  workspace: string,
  patientId: string,
  found: readonly FoundReferrer[],
  at: Position,
): Promise<FoundReferrer[]> {
  if (found.every(({ position }) => position < at)) return [...found];
  const isWanted = ({ position }: RecordedEvent) => position < at;
  const patients = new Set([patientId]);
  const referring: FoundReferrer[] = [];
  // A patient comes behind what refers to it.
  for (const one of found.toReversed()) {
    const evolve: Evolve<RecordState> = (state, event) => evolveRecord(one.kind, state, event);
    const stream = recordStream(workspace, one.kind, one.id);
    const then = await foldStream(eventLog, stream, evolve, { isWanted }).catch(asUnreadable);
    // Of what cannot be read, only the present is known.
    const isReferring = then instanceof UnreadableError || namesOneOf(patients, one.kind, then);
    if (!isReferring) continue;
    if (one.kind === patient.kind) patients.add(one.id);
    referring.unshift(one);
  }
  return referring;
}

function namesOneOf(patients: ReadonlySet<string>, kind: string, state: RecordState | undefined): boolean {
  const ids = state === undefined ? [] : referredIds(catalogEntry(kind), state.fields, patient.kind);
  return ids.some((id) => patients.has(id));
}
