import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { type Load, MeasuringProcess } from '../support/load/measuringProcess.ts';
import { readerKey } from '../support/readerKey.ts';
import { number, withRange } from '../support/report.ts';
import { columns, contestant, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { startServer } from '../support/serverProcess.ts';
import { ratios, spread } from '../support/statistics.ts';
import { fdatasyncRate } from '../support/syncs/disk.ts';

const RECORDS = 20_000;
const CONNECTIONS = 16;
const READERS = [1, 16];
const WRITERS = 16;
const DISK_SECONDS = 0.5;
const SLOW_SYNC_MS = 2;
/** For the readers' processes to start in. */
const SPARE_SECONDS = 2;

interface Keys {
  write: string;
  read: string;
}

/** Compares the service and a bare read, in turns. */
async function compare(bench: Bench, service: Chartledger, { read }: Keys): Promise<Report> {
  const bare = await startServer(bench, {
    script: 'ops/bench/servers/bareRead.ts',
    env: { DATA_DIR: bench.folder, RECORDS: String(RECORDS) },
    folder: bench.folder,
  });
  const request = { key: read, kind: 'patients', method: 'GET', among: RECORDS } as const;
  const contestants = [
    contestant(bench, 'chartledger', service, { ...request, settle: true }),
    contestant(bench, 'bare read', bare, request),
  ];
  await warmUp(bench, contestants);
  const results = await inTurns(bench, contestants, CONNECTIONS);
  await bare.stop();
  const cpu = (name: string) => series(results, name, 'serverCpu');
  return {
    figures: [{ columns, rows: rowsOf(CONNECTIONS, results) }],
    checks: [
      {
        what: 'processor time of all threads an audited read, to a bare read',
        measured: ratios(cpu('chartledger'), cpu('bare read')),
        unit: '×',
        target: { atMost: 2 },
      },
    ],
  };
}

/** Reads while others write: resolves with the p99 of the reads of each round. */
async function besideWrites(
  bench: Bench,
  { url }: Chartledger,
  keys: Keys,
  connections: number,
  writers: MeasuringProcess,
): Promise<Load> {
  const order = { url, kind: 'patients', among: RECORDS } as const;
  const { warmUpSeconds, seconds } = bench;
  // The writers begin first and end last.
  const writing = writers.run({
    ...order,
    key: keys.write,
    connections: WRITERS,
    seconds: seconds + 2 * warmUpSeconds + SPARE_SECONDS,
  });
  const reading = (timed: number) =>
    bench.load.run({ ...order, key: keys.read, method: 'GET', connections, seconds: timed });
  const reads = async () => {
    if (warmUpSeconds > 0) await reading(warmUpSeconds);
    return reading(seconds);
  };
  const [read, written] = await Promise.all([reads(), writing]);
  if (written.endedAt < read.endedAt) throw new Error('the writers ended before the readers');
  await caughtUp(url);
  return read;
}

/** Measures the tail of reads while others write, against the time of one sync. */
async function tail(
  bench: Bench,
  service: Chartledger,
  keys: Keys,
  leastMs: number,
): Promise<{ checks: Check[]; rows: string[][] }> {
  service.slowSyncs?.(leastMs);
  const writers = new MeasuringProcess('httpLoad.ts');
  const rows: string[][] = [];
  const checks: Check[] = [];
  try {
    for (const connections of READERS) {
      const p50: number[] = [];
      const p99: number[] = [];
      const allowed: number[] = [];
      for (let round = 1; round <= bench.rounds; round++) {
        bench.progress(`${connections} readers with ${WRITERS} writers, round ${round} of ${bench.rounds}`);
        const read = await besideWrites(bench, service, keys, connections, writers);
        const syncMs = Math.max(leastMs, 1000 / fdatasyncRate(bench.folder, DISK_SECONDS));
        p50.push(read.p50);
        p99.push(read.p99);
        allowed.push(2 * syncMs + 5);
      }
      const disk = leastMs === 0 ? 'as the disk' : `at least ${leastMs} ms`;
      rows.push([disk, number(connections), withRange(spread(p50)), withRange(spread(p99))]);
      checks.push({
        what: `p99 of a read at ${connections} while ${WRITERS} write, syncs ${disk}, to two syncs and 5 ms`,
        measured: ratios(p99, allowed),
        unit: '×',
        target: { atMost: 1 },
      });
    }
  } finally {
    writers.stop();
  }
  return { checks, rows };
}

async function run(bench: Bench): Promise<Report> {
  const stores = await makeStores(bench);
  await growLog(bench, stores, { records: RECORDS, events: RECORDS });
  const keys = { write: stores.key.key, read: await readerKey(stores) };
  const service = await startChartledger(bench, stores);
  await seed(bench, service, keys.write, ['payers']);
  await caughtUp(service.url);
  const { figures, checks } = await compare(bench, service, keys);
  const table = { columns: ['syncs', 'readers', 'p50 ms', 'p99 ms'], rows: [] as string[][] };
  for (const leastMs of service.slowSyncs && !bench.quick ? [0, SLOW_SYNC_MS] : [0]) {
    const found = await tail(bench, service, keys, leastMs);
    table.rows.push(...found.rows);
    checks.push(...found.checks);
  }
  await service.stop();
  return { figures: [...figures, table], checks };
}

export const read: Scenario = {
  name: 'read',
  description:
    'Patients read by id, each read in the audit trail before it is answered, against a row that `node:http` reads from ' +
    `SQLite and answers; and the tail of reads while ${WRITERS} connections write.`,
  run,
};
