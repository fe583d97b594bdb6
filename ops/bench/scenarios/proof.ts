import { openEventLog } from '../../../src/app/openBackend.ts';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { readerKey } from '../support/readerKey.ts';
import { number } from '../support/report.ts';
import { percentile, spread } from '../support/statistics.ts';

const REQUESTS = 2_000;

/** Milliseconds of one request, from its first byte to the last of its answer. */
async function ask(url: string, key: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers: { 'x-api-key': key } });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${response.status} for a proof`);
  return performance.now() - startedAt;
}

async function run(bench: Bench): Promise<Report> {
  const events = bench.quick ? 50_000 : 5_000_000;
  const records = events / 5;
  const stores = await makeStores(bench);
  await growLog(bench, stores, { records, events });
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  const key = await readerKey(eventLog, stores);
  await eventLog.close();
  const server = await startChartledger(bench, stores);
  bench.progress('the projector catches up');
  await caughtUp(server.url);
  const middle: number[] = [];
  const nearWorst: number[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`round ${round} of ${bench.rounds}`);
    const times: number[] = [];
    for (let turn = 0; turn < (bench.quick ? 200 : REQUESTS); turn++) {
      const record = `patient-${Math.floor(Math.random() * records)}`;
      times.push(await ask(`${server.url}/integration/patients/${record}/history/1/proof`, key));
    }
    times.sort((a, b) => a - b);
    // The first round warms up.
    if (round === 0) continue;
    middle.push(percentile(times, 0.5));
    nearWorst.push(percentile(times, 0.99));
  }
  await server.stop();
  const what = `proofs at ${number(events)} events`;
  return {
    figures: [],
    checks: [
      { what: `${what}, median`, measured: spread(middle), unit: 'ms' },
      { what: `${what}, p99`, measured: spread(nearWorst), unit: 'ms', target: { atMost: 50 } },
    ],
  };
}

export const proof: Scenario = {
  name: 'proof',
  description:
    'Proofs of single versions of 1 million patients in 5 million events, drawn at random, one request after the other.',
  run,
};
