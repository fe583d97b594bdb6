import { rmSync } from 'node:fs';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { behind, caughtUp, makeStores, type Stores, seed, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { contestant } from '../support/rounds.ts';
import { median, spread } from '../support/statistics.ts';

/** Measures upserts per second when they are sent one after the other. */
async function oneByOne(bench: Bench): Promise<number> {
  const stores = await makeStores(bench);
  const server = await startChartledger(bench, stores);
  const { key } = stores.key;
  await seed(bench, server, key, ['payers']);
  const { measure } = contestant(bench, 'one by one', server, { key, kind: 'patients', settle: true });
  const { warmUpSeconds, seconds } = bench;
  await measure({ connections: 16, warmUpSeconds, seconds });
  const rates: number[] = [];
  for (let round = 1; round <= bench.rounds; round++) {
    rates.push((await measure({ connections: 1, warmUpSeconds, seconds })).perSecond);
  }
  await server.stop();
  return median(rates);
}

/** Measures the events per second at which the read models are rebuilt after their file was deleted. */
async function rebuildRate(bench: Bench, stores: Stores): Promise<number> {
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(`${stores.folder}/read-models.db${suffix}`, { force: true });
  }
  const server = await startChartledger(bench, stores);
  const events = await behind(server.url);
  const seconds = await caughtUp(server.url);
  await server.stop();
  return events / seconds;
}

async function run(bench: Bench): Promise<Report> {
  const requests = await oneByOne(bench);
  const stores = await makeStores(bench);
  const events = bench.quick ? 20_000 : 200_000;
  await growLog(bench, stores, { records: events / 5, events });
  const rates: number[] = [];
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`round ${round} of ${bench.rounds}`);
    rates.push(await rebuildRate(bench, stores));
  }
  return {
    figures: [],
    checks: [
      { what: 'requests one by one', measured: spread([requests]), unit: 'a second' },
      { what: 'events in a rebuild of all read models', measured: spread(rates), unit: 'a second' },
      {
        what: 'rebuild to one by one',
        measured: spread(rates.map((rate) => rate / requests)),
        unit: '×',
        target: { atLeast: 20 },
      },
    ],
  };
}

export const rebuild: Scenario = {
  name: 'rebuild',
  description:
    'The read models deleted and rebuilt, against the rate at which requests one by one wrote them.',
  run,
};
