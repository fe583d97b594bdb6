import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { documentIdsOf, recordIdOf } from '../../domain/events/streams.ts';
import { catalog, catalogEntry, referredIds } from '../../domain/records/catalog.ts';
import {
  type DocumentUploaded,
  type DocumentView,
  evolveDocument,
  viewDocument,
} from '../../domain/records/document.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { ServiceError } from '../../platform/errors.ts';
import { readRuleSettings } from '../readiness/rules/rule.ts';
import { documentRows } from '../records/queries/documents.ts';
import { listRecords } from '../records/queries/lists.ts';
import { caughtUp } from '../records/queries/paging.ts';
import {
  foldStream,
  mergedPatients,
  type QueryPorts,
  type RecordView,
  readRecord,
} from '../records/queries/records.ts';

/** A document of the patient, and its place in the copy. */
export interface CopiedDocument {
  encounterId: string;
  view: DocumentView;
  /** Where the document store has its bytes. */
  uploaded: DocumentUploaded;
  /** In the ZIP. */
  path: string;
}

/** All that is stored of a patient, as of one moment. */
export interface PatientContents {
  workspace: string;
  /** The name of the workspace's organization; without one, the workspace's id. */
  organization: string;
  /** In which the workspace's days begin and end (IANA). */
  timeZone: string;
  patient: RecordView;
  /** Patients that were merged into this one, as the same person. */
  merged: RecordView[];
  /** Of all of these patients, in the order of their dates. */
  encounters: RecordView[];
  documents: CopiedDocument[];
  /** The payers, providers and facilities that they name, by kind; without those erased since. */
  referred: Map<string, RecordView[]>;
}

const PAGE = 200;

/** What a copy is read from. */
export interface ContentsPorts extends QueryPorts {
  directory: { known: { workspaces: ReadonlyMap<string, { organization?: string | undefined }> } };
}

/**
 * Resolves with all that is stored of a patient, including every write acknowledged before the call: of a patient that was merged
 * into another, with all of that other one, as both are the same person. Holds the records in memory, but no bytes of documents.
 * Rejects with `not_found`, with `gone` for an erased patient, with `conflict` where something cannot be read, so that no copy
 * lacks it, and with `unavailable`.
 */
export async function readPatientContents(
  ports: ContentsPorts,
  workspace: string,
  id: string,
): Promise<PatientContents> {
  const named = await readRecord(ports, workspace, patient, id);
  const whole = await survivorOf(ports, workspace, named);
  await caughtUp(ports, recordsModel);
  const rows = await mergedPatients(ports.readModels, workspace, whole.id);
  const merged = await presentOf(
    ports,
    workspace,
    patient.kind,
    rows.map((row) => recordIdOf(row.id)),
  );
  const encounters: RecordView[] = [];
  for (const one of [whole, ...merged]) encounters.push(...(await encountersOf(ports, workspace, one.id)));
  encounters.sort((a, b) => dateOf(a).localeCompare(dateOf(b)));
  const records = [whole, ...merged, ...encounters];
  const { timeZone } = await readRuleSettings(ports.eventLog, workspace);
  return {
    ...{ workspace, timeZone, patient: whole, merged, encounters },
    organization: ports.directory.known.workspaces.get(workspace)?.organization ?? workspace,
    documents: await documentsOf(ports, workspace, encounters),
    referred: await referredBy(ports, workspace, [
      ...records.slice(0, 1 + merged.length).map((view) => ({ kind: patient.kind, view })),
      ...encounters.map((view) => ({ kind: encounter.kind, view })),
    ]),
  };
}

/** Merges may form a circle: the first patient that is met again survives. */
async function survivorOf(ports: QueryPorts, workspace: string, named: RecordView): Promise<RecordView> {
  const met = new Set<string>();
  for (let view = named; ; ) {
    met.add(view.id);
    const into = view.record.merged_into;
    if (typeof into !== 'string' || met.has(into)) return view;
    const [next] = await presentOf(ports, workspace, patient.kind, [into]);
    if (next === undefined) return view;
    view = next;
  }
}

/** Resolves with those of these records that exist and were not erased. */
async function presentOf(
  ports: QueryPorts,
  workspace: string,
  kind: string,
  ids: readonly string[],
): Promise<RecordView[]> {
  const found: RecordView[] = [];
  for (const id of ids) {
    try {
      found.push(await readRecord(ports, workspace, catalogEntry(kind), id));
    } catch (error) {
      if (!(error instanceof ServiceError) || !['gone', 'not_found'].includes(error.code)) throw error;
    }
  }
  return found;
}

function dateOf({ record, created_at }: RecordView): string {
  return String(record.date_of_service ?? created_at);
}

async function encountersOf(ports: QueryPorts, workspace: string, patientId: string): Promise<RecordView[]> {
  const found: RecordView[] = [];
  const filters = [{ field: 'patient_id', value: patientId }];
  for (let pageToken: string | undefined; ; ) {
    const { page } = await listRecords(ports, workspace, encounter, { limit: PAGE, pageToken, filters });
    if (page.unreadable.length > 0) throw incomplete('encounter');
    found.push(...page.items);
    if (page.next_page_token === null) return found;
    pageToken = page.next_page_token;
  }
}

function incomplete(kind: string): ServiceError {
  return new ServiceError(
    'conflict',
    `An ${kind} of the workspace has an event that cannot be read, so a copy of the patient could lack it. To find out why, run: chartledger verify`,
  );
}

async function documentsOf(
  ports: QueryPorts,
  workspace: string,
  encounters: readonly RecordView[],
): Promise<CopiedDocument[]> {
  const places = new Map(encounters.map(({ id }, at) => [id, at]));
  const rows = await documentRows(ports, workspace, [...places.keys()]);
  const placeOf = (stream: string) => places.get(documentIdsOf(stream).encounterId) ?? 0;
  rows.sort((a, b) => placeOf(a.id) - placeOf(b.id) || a.order - b.order);
  const found: CopiedDocument[] = [];
  for (const row of rows) {
    const state = bodyOf(row) ?? (await foldStream(ports.eventLog, row.id, evolveDocument));
    if (state === undefined || state.removed) continue;
    const { encounterId } = documentIdsOf(row.id);
    const path = pathOf(found.length + 1, state.document);
    found.push({ encounterId, view: viewDocument(state), uploaded: state.document, path });
  }
  return found;
}

const NAME_LENGTH = 80;

/** Returns a name that every system can store and that is no path; the number makes it unique. */
function pathOf(number: number, { filename, format }: DocumentUploaded): string {
  const stem = filename
    .replace(/\.[A-Za-z0-9]+$/, '')
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .slice(0, NAME_LENGTH);
  return `documents/${String(number).padStart(3, '0')}-${stem}.${format}`;
}

async function referredBy(
  ports: QueryPorts,
  workspace: string,
  records: readonly { kind: string; view: RecordView }[],
): Promise<Map<string, RecordView[]>> {
  const referred = new Map<string, RecordView[]>();
  for (const { kind } of catalog) {
    if (kind === patient.kind || kind === encounter.kind) continue;
    const ids = records.flatMap((one) => referredIds(catalogEntry(one.kind), one.view.record, kind));
    referred.set(kind, await presentOf(ports, workspace, kind, [...new Set(ids)]));
  }
  return referred;
}
