import { documentsModel, everyDocumentPartition } from '../../../projections/documents.ts';
import { bodyOf } from '../../../projections/projection.ts';
import { patientReferencesModel, recordsModel, referrersPartition } from '../../../projections/records.ts';
import {
  encounterReadinessStream,
  kindOfStream,
  recordIdOf,
  recordStream,
} from '../../domain/events/streamNames.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { notFound } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/allRows.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type SightedThing, sightedThing } from './SightedThing.ts';

const AT_ONCE = 16;

/**
 * Returns everything that is or was of a patient and of those merged into that one: their records, every record that refers or
 * ever referred to them, and for encounters their documents and billing; including what was erased. As of every write
 * acknowledged before the call. Rejects with `not_found` when there never was such a patient, with `unreadable` and
 * `unavailable`.
 */
export async function patientThings(
  ports: QueryPorts,
  workspace: string,
  id: string,
): Promise<SightedThing[]> {
  const { eventLog, readModels } = ports;
  const stream = recordStream(workspace, patient.kind, id);
  const own = await sightedThing(eventLog, stream);
  if (own.versions.length === 0) throw notFound(patient.title);
  await Promise.all([recordsModel, documentsModel].map((model) => caughtUp(ports, model, 'report')));
  const referrers = await allReferrers(readModels, stream);
  const encounters = referrers.filter((one) => kindOfStream(one) === encounter.kind);
  const documents = await inTurns(encounters, (one) => documentsOf(readModels, one));
  const readiness = encounters.map((one) => encounterReadinessStream(workspace, recordIdOf(one)));
  const others = [...referrers, ...documents.flat(), ...readiness];
  return [own, ...(await inTurns(others, (one) => sightedThing(eventLog, one)))];
}

/**
 * Returns the streams of everything that refers or ever referred to a patient, and to those merged into that one. A patient who
 * exists and was merged into it in error is a different person.
 */
async function allReferrers(readModels: ReadModels, stream: string): Promise<string[]> {
  const found = new Set<string>();
  const patients = new Set([stream]);
  for (const one of patients) {
    const references = allRows(readModels, patientReferencesModel, referrersPartition(one));
    const streams = await Array.fromAsync(references, ({ body }) => body.stream);
    const others = streams.filter((other) => kindOfStream(other) === patient.kind);
    for (const row of await readModels.load(recordsModel, others)) {
      const state = bodyOf(row);
      if (state?.erased || state?.fields.merged_into === recordIdOf(one)) patients.add(row.id);
    }
    for (const other of streams) if (!others.includes(other)) found.add(other);
  }
  patients.delete(stream);
  return [...patients, ...found];
}

async function documentsOf(readModels: ReadModels, encounterStream: string): Promise<string[]> {
  const rows = await Promise.all(
    everyDocumentPartition(encounterStream).map((partition) =>
      Array.fromAsync(allRows(readModels, documentsModel, partition)),
    ),
  );
  return rows.flat().map(({ id }) => id);
}

/** Returns the results of `work` for each item, run several at a time. */
async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  }
  return results;
}
