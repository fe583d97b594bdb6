import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { readerKey } from '../support/readerKey.ts';
import { number } from '../support/report.ts';
import { spread } from '../support/statistics.ts';
import { ask, type ReadTimes, timedReads } from '../support/timedReads.ts';

const REQUESTS = 2_000;

async function run(bench: Bench): Promise<Report> {
  const events = bench.quick ? 50_000 : 5_000_000;
  const records = events / 5;
  const stores = await makeStores(bench);
  await growLog(bench, stores, { records, events });
  const key = await readerKey(stores);
  const server = await startChartledger(bench, stores);
  bench.progress('the projector catches up');
  await caughtUp(server.url, 250);
  const drawn = () => `patient-${Math.floor(Math.random() * records)}`;
  const prove = () => ask(`${server.url}/integration/patients/${drawn()}/history/1/proof`, key);
  const times = await timedReads(bench, server, new Map([['proof', prove]]), bench.quick ? 200 : REQUESTS);
  const { p50, p99, cpu } = times.get('proof') as ReadTimes;
  await server.stop();
  const what = `proofs at ${number(events)} events`;
  return {
    figures: [],
    checks: [
      { what: `${what}, median`, measured: spread(p50), unit: 'ms' },
      { what: `${what}, p99`, measured: spread(p99), unit: 'ms', target: { atMost: 50 } },
      { what: `${what}, processor time`, measured: spread(cpu), unit: 'ms' },
    ],
  };
}

export const proof: Scenario = {
  name: 'proof',
  description:
    'Proofs of single versions of 1 million patients in 5 million events, drawn at random, one request after the other.',
  run,
};
