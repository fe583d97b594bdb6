import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, type Stores, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { spread } from '../support/statistics.ts';

async function startTimes(bench: Bench, stores: Stores): Promise<number[]> {
  const seconds: number[] = [];
  for (let round = 1; round <= bench.rounds; round++) {
    const server = await startChartledger(bench, stores);
    seconds.push(server.startMilliseconds / 1000);
    await server.stop();
  }
  return seconds;
}

async function run(bench: Bench): Promise<Report> {
  const empty = await startTimes(bench, await makeStores(bench));
  const stores = await makeStores(bench);
  const events = bench.quick ? 20_000 : 500_000;
  await growLog(bench, stores, { records: events / 5, events });
  const first = await startChartledger(bench, stores);
  await caughtUp(first.url);
  await first.stop();
  const full = await startTimes(bench, stores);
  const check = (what: string, seconds: number[]) => ({
    what: `${what}: from the start of the process to the first answer of /readyz`,
    measured: spread(seconds),
    unit: 's',
    target: { atMost: 2 },
  });
  const thousands = `${events / 1000},000 events`;
  return { figures: [], checks: [check('empty stores', empty), check(thousands, full)] };
}

export const startup: Scenario = {
  name: 'startup',
  description: 'Time until the service is ready, on empty stores and on a log with events.',
  run,
};
