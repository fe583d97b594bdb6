import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Check, Report, Scenario, Table } from '../scenario.ts';
import {
  type Chartledger,
  caughtUp,
  makeStores,
  type Stores,
  seed,
  startChartledger,
} from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { residentMegabytes } from '../support/processUsage.ts';
import { columns, contestant, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { ratios, spread } from '../support/statistics.ts';

const CONNECTIONS = 64;
const MINUTES_OF_LOAD = 10;

function logBytes({ folder }: Stores): number {
  const files = readdirSync(folder).filter((name) => name.startsWith('events.db'));
  return files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

type Memory = ReturnType<typeof residentMegabytes>;

/** Resolves with the resident memory while requests are served, after each stretch of load. */
async function memoryUnderLoad(bench: Bench, server: Chartledger, among: number): Promise<Memory[]> {
  const { url, pid, stores } = server;
  const stretches = bench.quick ? 3 : MINUTES_OF_LOAD;
  const seconds = bench.quick ? 1 : 60;
  const sizes: Memory[] = [];
  for (let stretch = 1; stretch <= stretches; stretch++) {
    bench.progress(`memory under load, ${stretch} of ${stretches}`);
    const order = { url, key: stores.key.key, kind: 'patients' as const, among };
    await bench.load.run({ ...order, connections: CONNECTIONS, seconds });
    sizes.push(residentMegabytes(pid));
  }
  return sizes;
}

/** Compares the service on empty stores and on grown ones, in turns. */
async function compare(
  bench: Bench,
  grown: Chartledger,
  among: number,
): Promise<{ table: Table; check: Check }> {
  const emptyStores = await makeStores(bench);
  const empty = await startChartledger(bench, emptyStores);
  const request = { kind: 'patients' as const, among, settle: true };
  await seed(bench, empty, emptyStores.key.key, ['payers']);
  await seed(bench, grown, grown.stores.key.key, ['payers']);
  const contestants = [
    contestant(bench, 'grown', grown, { ...request, key: grown.stores.key.key }),
    contestant(bench, 'empty', empty, { ...request, key: emptyStores.key.key }),
  ];
  await warmUp(bench, contestants);
  const results = await inTurns(bench, contestants, CONNECTIONS);
  await empty.stop();
  const measured = ratios(series(results, 'grown', 'perSecond'), series(results, 'empty', 'perSecond'));
  return {
    table: { columns, rows: rowsOf(CONNECTIONS, results) },
    check: { what: 'requests/s to empty stores', measured, unit: '×', target: { atLeast: 0.9 } },
  };
}

async function run(bench: Bench): Promise<Report> {
  const size = bench.quick ? { records: 10_000, events: 50_000 } : { records: 1_000_000, events: 5_000_000 };
  const stores = await makeStores(bench);
  const sentBytes = await growLog(bench, stores, size);
  const storedBytes = logBytes(stores);
  const first = await startChartledger(bench, stores);
  bench.progress('the read models catch up');
  await caughtUp(first.url, 250);
  await first.stop();
  const grown = await startChartledger(bench, stores);
  const { table, check } = await compare(bench, grown, size.records);
  const memory = await memoryUnderLoad(bench, grown, size.records);
  await grown.stop();
  const flatness = (memory.at(-1) as Memory).all / (memory[0] as Memory).all;
  const [records, events] = [size.records, size.events].map((count) => count.toLocaleString('en-US'));
  return {
    figures: [table],
    checks: [
      { ...check, what: `${records} records, ${events} events: ${check.what}` },
      {
        what: 'from the start of the process to the first answer of /readyz',
        measured: spread([grown.startMilliseconds / 1000]),
        unit: 's',
        target: { atMost: 2 },
      },
      {
        what: 'resident memory under load, the highest',
        measured: spread([Math.max(...memory.map(({ all }) => all))]),
        unit: 'MB',
        target: { atMost: 350 },
      },
      {
        what: 'of it without mapped files, the highest',
        measured: spread([Math.max(...memory.map(({ anonymous }) => anonymous))]),
        unit: 'MB',
      },
      {
        what: 'resident memory under load, last to first',
        measured: spread([flatness]),
        unit: '×',
        target: { atMost: 1.1 },
      },
      {
        what: 'log on disk to JSON sent',
        measured: spread([storedBytes / sentBytes]),
        unit: '×',
      },
    ],
  };
}

export const growth: Scenario = {
  name: 'growth',
  description:
    'A grown log against an empty one: throughput in turns, start, memory and disk. The full form has 1 million ' +
    'records, 5 million events and ten minutes of load.',
  run,
};
