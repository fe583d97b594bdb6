import type { Leases } from '../../leases.ts';
import { SqliteFile } from './file.ts';

/** Leases in a SQLite file, alongside its other contents. */
export class SqliteLeases implements Leases {
  readonly #file: SqliteFile;

  /** Opens the file, creating it and its folder when they do not exist. */
  constructor(path: string) {
    this.#file = new SqliteFile({
      path,
      store: 'state store',
      // A lease does not survive a crash of the machine, nor need it: it is renewed every second, and this way costs no sync.
      setUp: (db) =>
        db.exec(`PRAGMA synchronous = NORMAL;
          CREATE TABLE IF NOT EXISTS leases (
            name TEXT PRIMARY KEY, owner TEXT NOT NULL, taken_at INTEGER NOT NULL, for_ms INTEGER NOT NULL
          ) WITHOUT ROWID;`),
      onReset: () => undefined,
    });
  }

  async acquire(name: string, owner: string, forMs: number): Promise<boolean> {
    const changes = this.#file.transaction((db) => {
      // Everyone sharing the file shares the machine's clock; it is read once nobody else can renew the lease. A term that begins long
      // from now means that the clock was set back.
      const now = Date.now();
      return db
        .prepare(
          `INSERT INTO leases (name, owner, taken_at, for_ms) VALUES (:name, :owner, :now, :forMs)
           ON CONFLICT (name) DO UPDATE SET owner = :owner, taken_at = :now, for_ms = :forMs
           WHERE leases.owner = :owner OR :now < taken_at - leases.for_ms OR :now >= taken_at + leases.for_ms`,
        )
        .run({ name, owner, now, forMs }).changes;
    });
    return Number(changes) === 1;
  }

  async release(name: string, owner: string): Promise<void> {
    this.#file.run((db) => db.prepare('DELETE FROM leases WHERE name = ? AND owner = ?').run(name, owner));
  }

  async close(): Promise<void> {
    this.#file.close();
  }
}
