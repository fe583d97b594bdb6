import { hash } from 'node:crypto';
import { bodyOf, isIncomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import { kindPartition, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import { changedFields, mergeFields, type RecordState, viewRecord } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { Row } from '../../../storage/readModels.ts';
import { allRows, type Reached, reachHead } from './paging.ts';
import { type QueryPorts, stateOf } from './records.ts';

/** What the comparison of a record with its copy elsewhere can show. */
export const reconcileOutcomes = [
  'same',
  'different',
  'missing_here',
  'missing_there',
  'merged',
  'erased',
  'unreadable',
] as const;
export type ReconcileOutcome = (typeof reconcileOutcomes)[number];

/** Another system's copy of a record: what it knows of it. */
export interface Copy {
  kind: string;
  id: string;
  version?: number | undefined;
  /** As `recordDigest` computes it, in lower case. */
  digest?: string | undefined;
  /** Its fields, validated. */
  record?: RecordFields | undefined;
}

/** What became of the comparison of one copy. */
export interface Compared {
  outcome: ReconcileOutcome;
  /** The record's version here; absent where there is none. */
  version?: number;
  /** Names of the fields that differ, dotted inside an insurance; only if the fields were sent. */
  different_fields?: string[];
  /** The patient into which this one was merged. */
  merged_into?: string;
  /** When the record was erased. */
  erased_at?: string;
}

const noFields = {} as RecordFields;

/** Returns the digest of a record's fields: SHA-256 of their canonical JSON (RFC 8785) without nulls, lower-case hex. */
export function recordDigest(fields: RecordFields): string {
  return hash('sha256', canonicalJson(mergeFields(noFields, fields)), 'hex');
}

/** Compares the state of a record with a copy. Defaults count as sent: a copy may have them or not. */
function compare(state: RecordState, { kind, version, digest, record }: Copy): Compared {
  const here = viewRecord(state);
  const fields =
    record && changedFields(viewRecord({ kind, fields: mergeFields(noFields, record) }), here).toSorted();
  const isSame =
    (version === undefined || version === state.version) &&
    (digest === undefined || digest === recordDigest(state.fields) || digest === recordDigest(here)) &&
    (fields === undefined || fields.length === 0);
  const into = state.fields.merged_into;
  const found = { version: state.version, ...(typeof into === 'string' && { merged_into: into }) };
  if (isSame) return { outcome: 'same', ...found };
  return {
    outcome: found.merged_into === undefined ? 'different' : 'merged',
    ...found,
    ...(fields && { different_fields: fields }),
  };
}

/** Records of one kind that were compared or listed, for the audit trail. */
export type ReconciledRows = Pick<Row, 'id' | 'order'>[];

/** The orders of rows of one kind: eight bytes each. */
class Orders {
  #orders = new Float64Array(1_024);
  #count = 0;

  add(order: number): void {
    if (this.#count === this.#orders.length) {
      const larger = new Float64Array(2 * this.#count);
      larger.set(this.#orders);
      this.#orders = larger;
    }
    this.#orders[this.#count] = order;
    this.#count += 1;
  }

  /** Returns a function that says whether an order was added; it must be asked in ascending order. */
  lookup(): (order: number) => boolean {
    const sorted = this.#orders.subarray(0, this.#count).sort();
    let at = 0;
    return (order) => {
      while (at < sorted.length && (sorted[at] as number) < order) at += 1;
      return sorted[at] === order;
    };
  }
}

/**
 * Compares the records of a workspace with the copies of another system, as of every write acknowledged before `begin`, or later. It
 * holds eight bytes for each record that it has found of the kinds of which the missing ones are wanted, and nothing of the others.
 */
export class Reconciliation {
  readonly #ports: QueryPorts;
  readonly #workspace: string;
  readonly #reached: Reached;
  readonly #found: Map<string, Orders>;

  private constructor(ports: QueryPorts, workspace: string, reached: Reached, kinds: readonly string[]) {
    this.#ports = ports;
    this.#workspace = workspace;
    this.#reached = reached;
    this.#found = new Map(kinds.map((kind) => [kind, new Orders()]));
  }

  /** `kinds`: those of which `missingThere` is wanted. Rejects with `unavailable`. */
  static async begin(
    ports: QueryPorts,
    workspace: string,
    kinds: readonly string[],
  ): Promise<Reconciliation> {
    return new Reconciliation(
      ports,
      workspace,
      await reachHead(ports, recordsModel, 'reconciliation'),
      kinds,
    );
  }

  /**
   * Resolves with what became of each copy, in their order, and with the rows found, by kind. Rejects with `unavailable`, also when the
   * read model was rebuilt meanwhile.
   */
  async compare(
    copies: readonly Copy[],
  ): Promise<{ compared: Compared[]; rows: Map<string, ReconciledRows> }> {
    const streamOf = ({ kind, id }: Copy) => recordStream(this.#workspace, kind, id);
    const streams = [...new Set(copies.map(streamOf))];
    const found = new Map(
      (await this.#ports.readModels.load(recordsModel, streams)).map((row) => [row.id, row]),
    );
    await this.#requireWhole();
    const compared: Compared[] = [];
    const rows = new Map<string, ReconciledRows>();
    for (const copy of copies) {
      const row = found.get(streamOf(copy));
      if (row === undefined) {
        compared.push({ outcome: 'missing_here' });
        continue;
      }
      const { id, order } = row;
      this.#found.get(copy.kind)?.add(order);
      const ofKind = rows.get(copy.kind);
      if (ofKind) ofKind.push({ id, order });
      else rows.set(copy.kind, [{ id, order }]);
      const state = isIncomplete(row) ? await stateOf(this.#ports, copy.kind, row) : bodyOf(row);
      compared.push(comparedWith(state, copy));
    }
    return { compared, rows };
  }

  /**
   * Yields the records of a kind that no copy named, in the order of their creation; those created since `begin` are left out. Called
   * once, after all copies were compared. Rejects as `compare` does.
   */
  async *missingThere(kind: string): AsyncGenerator<{ id: string; version?: number; order: number }> {
    const isFound = this.#found.get(kind)?.lookup();
    if (isFound === undefined) return;
    for await (const row of allRows(
      this.#ports.readModels,
      recordsModel,
      kindPartition(this.#workspace, kind),
    )) {
      if (row.order > this.#reached.position) break;
      if (isFound(row.order)) continue;
      const version = bodyOf(row)?.version;
      yield { id: recordIdOf(row.id), order: row.order, ...(version !== undefined && { version }) };
    }
    // Rows that were dropped meanwhile would have ended the list as if it were complete.
    await this.#requireWhole();
  }

  async #requireWhole(): Promise<void> {
    const held = await this.#ports.readModels.checkpoint(recordsModel, { isAwaited: false });
    if (held < this.#reached.held) throw unavailable('reconciliation');
  }
}

function comparedWith(state: RecordState | undefined, copy: Copy): Compared {
  if (state === undefined) return { outcome: 'unreadable' };
  if (state.erased) return { outcome: 'erased', erased_at: state.updatedAt };
  return compare(state, copy);
}
