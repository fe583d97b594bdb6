import { encountersModel } from '../../../projections/encounters.ts';
import { bodyOf, isIncomplete } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position } from '../../domain/events/event.ts';
import { kindPartition, recordIdOf, recordStream } from '../../domain/events/streamNames.ts';
import { type CatalogEntry, catalog } from '../../domain/records/catalog.ts';
import { viewRecord } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { referredIds } from '../../domain/records/referredIds.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/allRows.ts';
import { mergedPatients } from '../records/queries/mergedPatients.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';

/** Kinds whose read models show what refers to a patient. */
const ofPatients: readonly string[] = [encounter.kind, patient.kind];

/** A record that refers to another one. */
export interface Referrer {
  kind: string;
  id: string;
}

/** The same, with the positions of its first and its last event. */
export interface FoundReferrer extends Referrer {
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
