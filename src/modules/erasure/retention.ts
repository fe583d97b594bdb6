import { LRUCache } from 'lru-cache';
import { bodyOf, type Incomplete, isIncomplete } from '../../../projections/projection.ts';
import {
  documentPartitions,
  documentsModel,
  encountersModel,
  recordsModel,
} from '../../../projections/records.ts';
import { maxTime, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { kindOfStream, kindPartition, recordIdOf, recordStream } from '../../domain/events/streams.ts';
import { catalog, catalogEntry, referredIds } from '../../domain/records/catalog.ts';
import { type RecordState, viewRecord } from '../../domain/records/fold.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { ServiceError, UnreadableError } from '../../platform/errors.ts';
import { withRetry } from '../../platform/retry.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import type { RetentionPolicy } from '../auth/apiKeys.ts';
import { allRows, caughtUp } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { eraseRecord } from './erase.ts';
import { type ErasurePorts, finishErasure } from './finish.ts';
import { type Erasable, ErasureRefused, type HoldState, holdsOver, noHolds, readHolds } from './holdState.ts';
import { type Referrer, referrerRows, refersTo } from './references.ts';
import { doneTombstone } from './tombstones.ts';

/** Yields the items in arrays of at most `size`. */
async function* inChunks<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let chunk: Item[] = [];
  for await (const item of items) {
    chunk.push(item);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** A row of the read model of records. */
type RecordRow = Row<RecordState | Incomplete>;

/** When an expired record, with what goes with it, was last in use: ISO 8601, UTC. */
interface RecordAge {
  changedAt: string;
  /** The latest date of service; undefined when there is none. */
  serviceAt: string | undefined;
}

/** For a patient, the encounters that go with it. */
interface PatientAge extends RecordAge {
  referrers: Referrer[];
}

/**
 * Determines the age of records that exceed a workspace's retention period, from the read models; undefined for those that do not
 * exceed it, do not exist, or cannot be read.
 */
class RecordAges {
  readonly #readModels: ReadModels;
  readonly #workspace: string;
  readonly #before: string;

  /** A record has expired when it was not changed, and has no date of service, at or after `before` (ISO 8601, UTC). */
  constructor(readModels: ReadModels, workspace: string, before: string) {
    this.#readModels = readModels;
    this.#workspace = workspace;
    this.#before = before;
  }

  /** For a record of a kind, with what goes with it. Rejects with `unavailable`. */
  async of(kind: string, row: RecordRow | undefined): Promise<RecordAge | undefined> {
    if (kind === 'patient') return this.ofPatient(row);
    return kind === 'encounter' ? this.ofEncounter(row) : this.ofRow(row);
  }

  /** For a record alone, by its own row. */
  ofRow(row: RecordRow | undefined): RecordAge | undefined {
    const state = bodyOf(row);
    if (state === undefined || state.erased || state.updatedAt >= this.#before) return undefined;
    const date = state.fields.date_of_service;
    const serviceAt = typeof date === 'string' ? new Date(instantOf(date)).toISOString() : undefined;
    if (serviceAt !== undefined && serviceAt >= this.#before) return undefined;
    return { changedAt: state.updatedAt, serviceAt };
  }

  /** For an encounter with its documents. Rejects with `unavailable`. */
  async ofEncounter(row: RecordRow | undefined): Promise<RecordAge | undefined> {
    const own = this.ofRow(row);
    if (own === undefined || row === undefined) return undefined;
    const age = { ...own };
    for (const partition of documentPartitions(row.id)) {
      for await (const document of allRows(this.#readModels, documentsModel, partition)) {
        const changedAt = bodyOf(document)?.updatedAt;
        if (changedAt === undefined || changedAt >= this.#before) return undefined;
        age.changedAt = maxTime(age.changedAt, changedAt);
      }
    }
    return age;
  }

  /** For a patient with its encounters: only when all of them have expired. Rejects with `unavailable`. */
  async ofPatient(row: RecordRow | undefined): Promise<PatientAge | undefined> {
    const own = this.ofRow(row);
    if (own === undefined || row === undefined) return undefined;
    const age: PatientAge = { ...own, referrers: [] };
    const id = recordIdOf(row.id);
    const referrers = referrerRows(this.#readModels, this.#workspace, 'patient', id);
    for await (const some of inChunks(referrers, AT_ONCE)) {
      if (some.some(({ row: other }) => isIncomplete(other))) return undefined;
      const rows = await this.load(some.map(({ row: other }) => other.id));
      for (const { entry, row: other } of some) {
        const otherAge = await this.ofEncounter(rows.get(other.id));
        if (otherAge === undefined) return undefined;
        age.changedAt = maxTime(age.changedAt, otherAge.changedAt);
        if (otherAge.serviceAt) age.serviceAt = maxTime(age.serviceAt, otherAge.serviceAt);
        age.referrers.push({ kind: entry.kind, id: recordIdOf(other.id) });
      }
    }
    return age;
  }

  /** Returns the rows of records, by stream. Rejects with `unavailable`. */
  async load(streams: string[]): Promise<Map<string, RecordRow>> {
    const rows = await this.#readModels.load(recordsModel, streams);
    return new Map(rows.map((row) => [row.id, row]));
  }
}

/**
 * Returns which of a kind's records, by id, are referred to by a record that remains, according to `remains`; all of them when a
 * record that may refer to them cannot be read. Takes one pass through all records of the kinds that may. Rejects with
 * `unavailable`.
 */
async function referredTo(
  readModels: ReadModels,
  workspace: string,
  kind: string,
  ids: ReadonlySet<string>,
  remains: (entry: CatalogEntry, row: RecordRow) => Promise<boolean>,
): Promise<ReadonlySet<string>> {
  const kept = new Set<string>();
  for (const entry of catalog) {
    if (!refersTo(entry, kind)) continue;
    for await (const row of allRows(readModels, recordsModel, kindPartition(workspace, entry.kind))) {
      const state = bodyOf(row);
      if (state === undefined) return ids;
      const named = referredIds(entry, viewRecord(state), kind).filter((id) => ids.has(id) && !kept.has(id));
      if (named.length === 0 || !(await remains(entry, row))) continue;
      for (const id of named) kept.add(id);
      if (kept.size === ids.size) return kept;
    }
  }
  return kept;
}

/** Number of records examined together; those found among them are yielded together. */
const AT_ONCE = 100;
/** Number of records checked for references in one pass through all records that may refer to them. */
const ONE_PASS = 10_000;
const CACHED_PATIENTS = 1_000;

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
async function retentionCaughtUp(ports: QueryPorts): Promise<void> {
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
    max: CACHED_PATIENTS,
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
    await withRetry(() => retentionCaughtUp(this.#ports));
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

/** What is erased in a workspace, and why. */
interface Expiry extends Pick<RetentionPolicy, 'before'> {
  /** The reason given in the tombstones. */
  reason: string;
}

/** Returns what a retention policy expires. */
export function expiryOf({ years, before }: RetentionPolicy): Expiry {
  const reason = `Retention of ${years} years: not changed, and without an encounter, since ${before.slice(0, 10)}`;
  return { before, reason };
}

/** The outcome for the expired records. */
export interface RetentionTally {
  erased: number;
  /** Encounters erased with their patients. */
  encounters: number;
  held: number;
  /** Still referred to by records that remain. */
  referred_to: number;
  /** In use again when their turn came. */
  changed: number;
  /** History not readable by this version of the service. */
  unreadable: number;
}

/** The outcome of a whole run. */
export interface RetentionResult extends RetentionTally {
  /** Position of the last tombstone; undefined if nothing was erased. */
  position: Position | undefined;
}

interface RetentionRun {
  /** Maximum number of records, a patient with its encounters counted as one. */
  limit: number;
  /** Called after each batch. */
  onBatch(tally: Readonly<RetentionTally>): void;
}

type Retained = 'held' | 'referred_to' | 'changed' | 'unreadable';

/** Thrown by the last check when a record is in use again. */
class ChangedConcurrently extends Error {}

/** Records that are erased side by side: each waits for read models, and their appends share commits. */
const ERASED_AT_ONCE = 16;

/**
 * Erases a workspace's expired records, some at a time, a patient with its encounters; those under legal hold, still referred to,
 * or in use again right before their tombstone are kept and counted. An interruption leaves nothing half done, and another call
 * continues with what is left. Rejects with `unavailable`.
 */
export async function eraseExpired(
  ports: ErasurePorts,
  caller: Caller,
  expiry: Expiry,
  { limit, onBatch }: RetentionRun,
): Promise<RetentionResult> {
  let position: Position | undefined;
  const tally = { erased: 0, encounters: 0, held: 0, referred_to: 0, changed: 0, unreadable: 0 };
  for await (const records of findExpired(ports, caller.workspace, expiry.before)) {
    for (let from = 0; from < records.length; ) {
      const left = limit - tally.erased;
      if (left === 0) return { ...tally, position };
      const some = records.slice(from, from + Math.min(ERASED_AT_ONCE, left));
      from += some.length;
      const ended = await Promise.allSettled(
        some.map((record) =>
          record.state === 'due' ? eraseOne(ports, caller, expiry, record) : record.state,
        ),
      );
      for (const [index, result] of ended.entries()) {
        if (result.status === 'rejected') throw result.reason;
        const { value: outcome } = result;
        if (typeof outcome === 'string') tally[outcome] += 1;
        else {
          tally.erased += 1;
          position = Math.max(position ?? 0, outcome.at(-1)?.position ?? 0);
          tally.encounters += some[index]?.encounters ?? 0;
        }
      }
    }
    onBatch(tally);
  }
  return { ...tally, position };
}

/** Retries when a store is unreachable, or a read model lags behind earlier erasures. */
async function eraseOne(
  ports: ErasurePorts,
  caller: Caller,
  expiry: Expiry,
  record: ExpiredRecord,
): Promise<RecordedEvent[] | Retained> {
  try {
    return await withRetry(() => eraseDue(ports, caller, expiry, record));
  } catch (error) {
    if (error instanceof ChangedConcurrently) return 'changed';
    if (error instanceof ErasureRefused) return error.obstacle;
    if (error instanceof UnreadableError) return 'unreadable';
    if (error instanceof ServiceError && error.code === 'gone')
      return withRetry(() => finishOwn(ports, caller, record));
    throw error;
  }
}

async function eraseDue(
  ports: ErasurePorts,
  caller: Caller,
  { reason, before }: Expiry,
  { kind, id }: ExpiredRecord,
): Promise<RecordedEvent[]> {
  const { workspace } = caller;
  const ages = new RecordAges(ports.readModels, workspace, before);
  const stream = recordStream(workspace, kind, id);
  const lookAgain = async (last: RecordedEvent) => {
    // A write after this event restarts the erasure.
    if (last.recordedAt >= before) throw new ChangedConcurrently();
    await retentionCaughtUp(ports);
    const age = await ages.of(kind, (await ages.load([stream])).get(stream));
    if (age === undefined) throw new ChangedConcurrently();
  };
  const withEncounters = kind === 'patient';
  const options = { reason, withEncounters, lookAgain };
  const { tombstones, isComplete } = await eraseRecord(ports, caller, catalogEntry(kind), id, options);
  return isComplete ? tombstones : finishErasure(ports, tombstones[0] as RecordedEvent);
}

/** Continues after the tombstone where an earlier try was interrupted; otherwise another process got there first. */
async function finishOwn(
  ports: ErasurePorts,
  { workspace, requestId }: Caller,
  { kind, id }: ExpiredRecord,
): Promise<RecordedEvent[] | Retained> {
  const done = await doneTombstone(ports.eventLog, recordStream(workspace, kind, id), requestId);
  try {
    return done ? await finishErasure(ports, done) : 'changed';
  } catch (error) {
    if (error instanceof ErasureRefused) return error.obstacle;
    throw error;
  }
}
