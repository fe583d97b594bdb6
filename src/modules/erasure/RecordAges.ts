import { documentPartitions, documentsModel } from '../../../projections/documents.ts';
import { bodyOf, type Incomplete, isIncomplete } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { laterTime } from '../../domain/events/laterTime.ts';
import { recordIdOf } from '../../domain/events/streamNames.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/allRows.ts';
import { type Referrer, referrerRows } from './findReferrers.ts';
import { inChunks } from './inChunks.ts';

const AT_ONCE = 100;

/** A row of the read model of records. */
export type RecordRow = Row<RecordState | Incomplete>;

/** When an expired record, with what goes with it, was last in use: ISO 8601, UTC. */
export interface RecordAge {
  changedAt: string;
  /** The latest date of service; undefined when there is none. */
  serviceAt: string | undefined;
}

/** For a patient, the encounters that go with it. */
export interface PatientAge extends RecordAge {
  referrers: Referrer[];
}

/**
 * Determines the age of records that exceed a workspace's retention period, from the read models; undefined for those that do not
 * exceed it, do not exist, or cannot be read.
 */
export class RecordAges {
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
        age.changedAt = laterTime(age.changedAt, changedAt);
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
        age.changedAt = laterTime(age.changedAt, otherAge.changedAt);
        if (otherAge.serviceAt) age.serviceAt = laterTime(age.serviceAt, otherAge.serviceAt);
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
