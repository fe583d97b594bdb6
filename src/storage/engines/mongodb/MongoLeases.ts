import type { Collection, Db } from 'mongodb';
import type { Leases } from '../../leases.ts';
import { MongoConnection } from './MongoConnection.ts';
import { insertNew } from './mongoErrors.ts';

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
