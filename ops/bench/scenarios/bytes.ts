import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { modelName } from '../../../projections/projection.ts';
import { records } from '../../../projections/records.ts';
import { tree } from '../../../projections/tree.ts';

import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, type Stores, seed, startChartledger } from '../support/chartledger.ts';
import { PATIENT_BYTES } from '../support/load/bodies.ts';
import { number } from '../support/report.ts';
import { spread } from '../support/statistics.ts';

const VERSIONS = 5;
const CONNECTIONS = 64;
/** Read models that count: what lists show, and what proves the history. */
const COUNTED = [modelName(records), modelName(tree)];
/** The prefix of a read model's name in that of its table. */
const TABLE = 'model_';

/** Opens a file that no service has open, with all of its write-ahead log in it. */
function opened({ folder }: Stores, name: string): DatabaseSync {
  const db = new DatabaseSync(join(folder, name));
  db.exec('PRAGMA wal_checkpoint (TRUNCATE)');
  return db;
}

function logBytes(stores: Stores): { bytes: number; versions: number } {
  const db = opened(stores, 'events.db');
  const count = db.prepare("SELECT count(*) AS count FROM events WHERE type = 'PatientUpserted'").get();
  db.close();
  return { bytes: statSync(join(stores.folder, 'events.db')).size, versions: Number(count?.count) };
}

/** Returns the bytes of the pages of each read model, with its indexes. */
function readModelBytes(stores: Stores): Map<string, number> {
  const db = opened(stores, 'read-models.db');
  const rows = db
    .prepare(
      `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name)
       GROUP BY tbl_name ORDER BY bytes DESC`,
    )
    .all();
  db.close();
  return new Map(rows.map(({ name, bytes }) => [String(name).replace(TABLE, ''), Number(bytes)]));
}

async function run(bench: Bench): Promise<Report> {
  const among = bench.quick ? 2_000 : 20_000;
  const stores = await makeStores(bench);
  const server = await startChartledger(bench, stores);
  const { url } = server;
  const { key } = stores.key;
  await seed(bench, server, key, ['payers']);
  for (let version = 1; version <= VERSIONS; version++) {
    bench.progress(`version ${version} of ${VERSIONS} of each patient`);
    const each = { kind: 'patients', among, once: true, connections: CONNECTIONS, seconds: 0 } as const;
    await bench.load.run({ url, key, ...each });
  }
  await caughtUp(url);
  await server.stop();
  const log = logBytes(stores);
  if (log.versions !== among * VERSIONS) throw new Error(`${log.versions} versions are in the log`);
  const models = readModelBytes(stores);
  const counted = COUNTED.reduce((sum, name) => {
    const bytes = models.get(name);
    if (bytes === undefined) throw new Error(`there is no table of ${name}`);
    return sum + bytes;
  }, log.bytes);
  const perVersion = (bytes: number) => number(bytes / log.versions);
  return {
    figures: [
      {
        columns: ['what', 'bytes a version'],
        rows: [['event log', log.bytes] as const, ...models].map(([name, bytes]) => [
          name,
          perVersion(bytes),
        ]),
      },
    ],
    checks: [
      {
        what: 'event log, records and evidence on disk, a version of 1 KB',
        measured: spread([counted / log.versions / PATIENT_BYTES]),
        unit: 'KB',
        target: { atMost: 1.3 },
      },
    ],
  };
}

export const bytes: Scenario = {
  name: 'bytes',
  description:
    `What ${VERSIONS} versions of each of 20,000 patients of 1 KB (2,000 in the quick form) take on the disk, with all ` +
    'indexes, once the service has stopped and the write-ahead logs are copied into their files.',
  run,
};
