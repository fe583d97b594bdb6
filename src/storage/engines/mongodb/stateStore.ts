import type { Collection, Db } from 'mongodb';
import type { Leases } from '../../leases.ts';
import type {
  StateQuery,
  StateRow,
  StateScan,
  StateStore,
  StateTable,
  StateWrite,
} from '../../stateStore.ts';
import { insertNew, MongoConnection } from './connection.ts';
import {
  indexRows,
  loadRows,
  pageRows,
  pruneRows,
  removeRows,
  rowsOf,
  type StoredRow,
  scanRows,
  writeRows,
} from './rows.ts';

interface Lease {
  _id: string;
  owner: string;
  forMs: number;
  /** Incremented with every renewal and every change of owner, which shows that the owner is alive. */
  renewals: number;
}

interface Observation {
  owner: string;
  renewals: number;
  /** On this process's monotonic clock. */
  since: number;
}

/**
 * Leases in one collection. They contain no times, as the clocks of machines differ: instances that want a lease watch it, and
 * take it when it was not renewed for its whole term, measured on their own clock.
 */
export class MongoLeases implements Leases {
  readonly #connection: MongoConnection;
  readonly #observed = new Map<string, Observation>();

  /** Does not connect: the first call does. Throws on a malformed URL. */
  constructor(url: string) {
    this.#connection = new MongoConnection(url, {
      name: 'state store',
      writeConcern: { w: 'majority', journal: true },
    });
  }

  acquire(name: string, owner: string, forMs: number): Promise<boolean> {
    return this.#connection.call(async (db) => {
      const leases = leasesOf(db);
      const held = await leases.findOne({ _id: name });
      if (held === null) return insertNew(leases, { _id: name, owner, forMs, renewals: 0 });
      if (held.owner !== owner && !this.#isExpired(held)) return false;
      const unchanged = { _id: name, owner: held.owner, renewals: held.renewals };
      const { matchedCount } = await leases.updateOne(unchanged, {
        $set: { owner, forMs },
        $inc: { renewals: 1 },
      });
      return matchedCount === 1;
    });
  }

  async release(name: string, owner: string): Promise<void> {
    await this.#connection.call((db) => leasesOf(db).deleteOne({ _id: name, owner }));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #isExpired({ _id: name, owner, forMs, renewals }: Lease): boolean {
    const now = performance.now();
    const before = this.#observed.get(name);
    if (before?.owner === owner && before.renewals === renewals) return now - before.since >= forMs;
    this.#observed.set(name, { owner, renewals, since: now });
    return false;
  }
}

function leasesOf(db: Db): Collection<Lease> {
  return db.collection('leases');
}

/** State in one MongoDB database, with a collection `state.{table}` for each table; acknowledged writes are on a majority. */
export class MongoStateStore implements StateStore {
  readonly isTransactional = false;
  readonly isOrdered = false;
  readonly #connection: MongoConnection;
  /** Collections whose index is known to exist. */
  readonly #prepared = new Map<string, Promise<void>>();

  /** Does not connect: the first call does. Throws on a malformed URL. */
  constructor(url: string) {
    this.#connection = new MongoConnection(url, {
      name: 'state store',
      writeConcern: { w: 'majority', journal: true },
    });
  }

  async load<Body extends object>(table: StateTable<Body>, ids: string[]): Promise<StateRow<Body>[]> {
    return (await loadRows(this.#connection, collectionOf(table), ids)).map((row) => toRow(table, row));
  }

  async page<Body extends object>(table: StateTable<Body>, query: StateQuery): Promise<StateRow<Body>[]> {
    return (await pageRows(this.#connection, collectionOf(table), query)).map((row) => toRow(table, row));
  }

  async scan<Body extends object>(table: StateTable<Body>, query: StateScan): Promise<StateRow<Body>[]> {
    return (await scanRows(this.#connection, collectionOf(table), query)).map((row) => toRow(table, row));
  }

  async save<Body extends object>(table: { name: string }, rows: StateRow<Body>[]): Promise<void> {
    if (rows.length === 0) return;
    await this.#prepare(table);
    await writeRows(this.#connection, collectionOf(table), rows.map(toStored));
  }

  async swap<Body extends object>(
    table: { name: string },
    row: StateRow<Body>,
    expected: number | undefined,
  ): Promise<boolean> {
    await this.#prepare(table);
    const stored = toStored(row);
    return this.#connection.call(async (db) => {
      const rows = rowsOf(db, collectionOf(table));
      if (expected === undefined) return insertNew(rows, stored);
      const { _id, state } = stored;
      const { matchedCount } = await rows.updateOne({ _id, 'state.position': expected }, { $set: { state } });
      return matchedCount === 1;
    });
  }

  async write(writes: readonly StateWrite[]): Promise<boolean> {
    for (const { table, ...write } of writes) {
      if ('save' in write) await this.save(table, write.save);
      else if ('remove' in write) await this.remove(table, write.remove, write.upTo);
      else if (!(await this.swap(table, write.swap, write.expected))) return false;
    }
    return true;
  }

  remove(table: { name: string }, ids: string[], upTo: number): Promise<void> {
    return removeRows(this.#connection, collectionOf(table), ids, upTo);
  }

  async prune<Body extends object>(table: StateTable<Body>, before: number): Promise<void> {
    await pruneRows(this.#connection, collectionOf(table), before);
  }

  /** The server manages its own files. */
  async purge(): Promise<void> {}

  async check(): Promise<void> {
    await this.#connection.call((db) => db.command({ ping: 1 }));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Once for all callers; again after a failure. */
  #prepare(table: { name: string }): Promise<void> {
    const name = collectionOf(table);
    const known = this.#prepared.get(name);
    if (known) return known;
    const preparing = indexRows(this.#connection, name);
    this.#prepared.set(name, preparing);
    preparing.catch(() => this.#prepared.delete(name));
    return preparing;
  }
}

function collectionOf({ name }: { name: string }): string {
  return `state.${name}`;
}

function toStored<Body extends object>(row: StateRow<Body>): StoredRow {
  const { id: _id, order, revision: position, partition, body } = row;
  return { _id, order, state: { position, partition, body: JSON.stringify(body) } };
}

function toRow<Body extends object>(
  table: StateTable<Body>,
  { _id: id, order, state: { position: revision, partition, body } }: StoredRow,
): StateRow<Body> {
  return { id, partition, order, revision, body: table.body.parse(JSON.parse(body)) };
}
