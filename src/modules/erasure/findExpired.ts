import { LRUCache } from 'lru-cache';
import { documentsModel } from '../../../projections/documents.ts';
import { encountersModel } from '../../../projections/encounters.ts';
import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position } from '../../domain/events/event.ts';
import { kindOfStream, kindPartition, recordIdOf, recordStream } from '../../domain/events/streamNames.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { patiently } from '../../platform/patiently.ts';
import { allRows } from '../records/queries/allRows.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type HoldState, noHolds } from './holdState.ts';
import { type Erasable, holdsOver } from './holdsOver.ts';
import { inChunks } from './inChunks.ts';
import { type RecordAge, RecordAges, type RecordRow } from './RecordAges.ts';
import { readHolds } from './readHolds.ts';
import { referredTo } from './referredTo.ts';

/** Number of records examined together; those found among them are yielded together. */
const AT_ONCE = 100;
/** Number of records checked for references in one pass through all records that may refer to them. */
const ONE_PASS = 10_000;
const REMEMBERED_PATIENTS = 1_000;

/** A record that exceeds a workspace's retention period. */
export interface ExpiredRecord {
  kind: string;
  id: string;
  /** Position of its first event in the log, for the audit trail. */
  position: Position;
  /** Whether it is due for erasure, or why not. */
  state: 'due' | 'held' | 'referred_to';
  /** When it, or what goes with it, was last changed: ISO 8601, UTC. */
  changedAt: string;
  /** The latest date of service of the record or its encounters: ISO 8601, UTC. */
  serviceAt: string | undefined;
  /** For a patient: number of encounters that go with it. */
  encounters: number;
}

/** Waits until the read models used by retention are up to date. Rejects with `unavailable`. */
export async function retentionCaughtUp(ports: QueryPorts): Promise<void> {
  await Promise.all([recordsModel, encountersModel, documentsModel].map((model) => caughtUp(ports, model)));
}

/**
 * Yields the records of a workspace that were not changed, and have no encounter dated, at or after `before` (ISO 8601, UTC), in
 * batches of one kind: patients, each with its encounters; the encounters of other patients; then the other kinds. As of every
 * write acknowledged before the call; records erased during the iteration count as erased. Uses bounded memory. Rejects with
 * `unavailable` and `unreadable`.
 */
export async function* findExpired(
  ports: QueryPorts,
  workspace: string,
  before: string,
): AsyncGenerator<ExpiredRecord[]> {
  yield* new Search(ports, workspace, before).all();
}

class Search {
  readonly #ports: QueryPorts;
  readonly #workspace: string;
  readonly #ages: RecordAges;
  readonly #holds: HoldState = noHolds();
  /** The patients examined last, by stream; cleared for each kind. */
  readonly #patients = new LRUCache<string, { found: ExpiredRecord | undefined }>({
    max: REMEMBERED_PATIENTS,
  });

  constructor(ports: QueryPorts, workspace: string, before: string) {
    this.#ports = ports;
    this.#workspace = workspace;
    this.#ages = new RecordAges(ports.readModels, workspace, before);
  }

  /** Yields what is found, in the order in which kinds are to be erased. */
  async *all(): AsyncGenerator<ExpiredRecord[]> {
    yield* this.#of('patient', AT_ONCE, (rows) => Promise.all(rows.map((row) => this.#patient(row.id, row))));
    yield* this.#of('encounter', AT_ONCE, (rows) => this.#encounters(rows));
    for (const { kind } of catalog.toReversed()) {
      if (kind !== 'patient' && kind !== 'encounter')
        yield* this.#of(kind, ONE_PASS, (rows) => this.#others(kind, rows));
    }
  }

  /** Yields what `find` returns for a kind's records that have expired on their own, passed to it `size` at a time. */
  async *#of(
    kind: string,
    size: number,
    find: (rows: RecordRow[]) => Promise<(ExpiredRecord | undefined)[]>,
  ): AsyncGenerator<ExpiredRecord[]> {
    this.#patients.clear();
    await patiently(() => retentionCaughtUp(this.#ports));
    for await (const rows of inChunks(this.#expired(kind), size)) {
      await readHolds(this.#ports.eventLog, this.#workspace, { known: this.#holds });
      const found = (await find(rows)).filter((record) => record !== undefined);
      for (let from = 0; from < found.length; from += AT_ONCE) yield found.slice(from, from + AT_ONCE);
    }
  }

  async *#expired(kind: string): AsyncGenerator<RecordRow> {
    const partition = kindPartition(this.#workspace, kind);
    for await (const row of allRows(this.#ports.readModels, recordsModel, partition)) {
      if (this.#ages.ofRow(row)) yield row;
    }
  }

  /** Returns those that do not go with their patients. */
  async #encounters(rows: RecordRow[]): Promise<(ExpiredRecord | undefined)[]> {
    const patients = await this.#ages.load(rows.map((row) => this.#patientOf(row)));
    const goes = await Promise.all(rows.map((row) => this.#goesWith(row, patients)));
    return goes.filter((record) => record?.kind === 'encounter');
  }

  async #others(kind: string, rows: RecordRow[]): Promise<ExpiredRecord[]> {
    const found = rows.flatMap((row) => this.#found(row, this.#ages.ofRow(row)) ?? []);
    const due = found.filter(({ state }) => state === 'due').map(({ id }) => id);
    const { readModels } = this.#ports;
    const kept = await referredTo(readModels, this.#workspace, kind, new Set(due), (entry, row) =>
      this.#remains(entry.kind, row),
    );
    return found.map((record) => (kept.has(record.id) ? { ...record, state: 'referred_to' } : record));
  }

  /** Whether a record remains once everything due is erased. */
  async #remains(kind: string, row: RecordRow): Promise<boolean> {
    if (kind === 'patient') return (await this.#patient(row.id, row))?.state !== 'due';
    if (kind !== 'encounter' || this.#ages.ofRow(row) === undefined) return true;
    return (await this.#goesWith(row, await this.#ages.load([this.#patientOf(row)])))?.state !== 'due';
  }

  /** Returns an encounter, or the patient with which it goes; undefined when neither has expired. */
  async #goesWith(row: RecordRow, patients: Map<string, RecordRow>): Promise<ExpiredRecord | undefined> {
    const stream = this.#patientOf(row);
    const patient = await this.#patient(stream, patients.get(stream));
    if (patient) return patient;
    const age = await this.#ages.ofEncounter(row);
    return this.#found(row, age, { patientIds: [recordIdOf(stream)] });
  }

  async #patient(stream: string, row: RecordRow | undefined): Promise<ExpiredRecord | undefined> {
    const known = this.#patients.get(stream);
    if (known) return known.found;
    const age = await this.#ages.ofPatient(row);
    const found = row && this.#found(row, age, { referrers: age?.referrers ?? [] });
    this.#patients.set(stream, { found });
    return found;
  }

  #patientOf(encounter: RecordRow): string {
    return recordStream(this.#workspace, 'patient', String(bodyOf(encounter)?.fields.patient_id));
  }

  #found(
    row: RecordRow,
    age: RecordAge | undefined,
    more: Partial<Pick<Erasable, 'patientIds' | 'referrers'>> = {},
  ): ExpiredRecord | undefined {
    if (age === undefined) return undefined;
    const record = { kind: kindOfStream(row.id), id: recordIdOf(row.id), referrers: [], ...more };
    const { kind, id, referrers } = record;
    const { changedAt, serviceAt } = age;
    const encounters = referrers.filter((one) => one.kind === 'encounter').length;
    const state = holdsOver(this.#holds, record) ? 'held' : 'due';
    return { kind, id, position: row.order, state, changedAt, serviceAt, encounters };
  }
}
