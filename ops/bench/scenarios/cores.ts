import { availableParallelism } from 'node:os';
import type { Bench, Report, Scenario, Table } from '../scenario.ts';
import { type Chartledger, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { residentMegabytes } from '../support/processUsage.ts';
import { withRange } from '../support/report.ts';
import { type Contestant, columns, contestant, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { ratios, spread } from '../support/statistics.ts';

const THREADS = [1, 2, 4];
const CONNECTIONS = [64, 256];

const nameOf = (threads: number) => (threads === 1 ? '1 thread' : `${threads} threads`);

interface Sized {
  server: Chartledger;
  contestant: Contestant;
  megabytes: number[];
}

async function startWith(bench: Bench, threads: number): Promise<Sized> {
  const stores = await makeStores(bench, { REQUEST_THREADS: String(threads) });
  const server = await startChartledger(bench, stores);
  const { key } = stores.key;
  await seed(bench, server, key, ['payers']);
  const megabytes: number[] = [];
  const own = contestant(bench, nameOf(threads), server, { key, kind: 'patients', settle: true });
  const measure: Contestant['measure'] = async (timing) => {
    const measured = await own.measure(timing);
    megabytes.push(residentMegabytes(server.pid).all);
    return measured;
  };
  return { server, contestant: { ...own, measure }, megabytes };
}

async function run(bench: Bench): Promise<Report> {
  const cores = availableParallelism();
  const counts = THREADS.filter((threads) => threads <= cores);
  if (counts.length < 2) return { leftOut: 'there is one processor', figures: [], checks: [] };
  const all: Sized[] = [];
  for (const threads of counts) all.push(await startWith(bench, threads));
  const contestants = all.map((one) => one.contestant);
  await warmUp(bench, contestants);
  const figures: Table = { columns, rows: [] };
  const checks: Report['checks'] = [];
  for (const connections of CONNECTIONS) {
    const results = await inTurns(bench, contestants, connections);
    figures.rows.push(...rowsOf(connections, results));
    for (const threads of counts.slice(1)) {
      const [more, one] = [nameOf(threads), nameOf(1)];
      checks.push({
        what: `${cores} processors, ${connections} connections: upserts/s of ${more} to ${one}`,
        measured: ratios(series(results, more, 'perSecond'), series(results, one, 'perSecond')),
        unit: '×',
      });
    }
  }
  const memory: Table = {
    columns: ['request threads', 'resident memory after each load, MB'],
    rows: all.map(({ megabytes }, index) => [String(counts[index]), withRange(spread(megabytes))]),
  };
  for (const { server } of all) await server.stop();
  return { figures: [figures, memory], checks };
}

export const cores: Scenario = {
  name: 'cores',
  description:
    'The upserts of `upsert` with 1, 2 and 4 request threads, as far as the machine has processors for them. The client and the ' +
    'projector also need processors: more threads gain nothing where there are two.',
  run,
};
