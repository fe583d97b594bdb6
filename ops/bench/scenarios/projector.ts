import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { RECORDS } from '../support/rounds.ts';
import { spread } from '../support/statistics.ts';

const CONNECTIONS = 64;

async function run(bench: Bench): Promise<Report> {
  const stores = await makeStores(bench);
  const server = await startChartledger(bench, stores);
  const { url } = server;
  const { key } = stores.key;
  await seed(bench, server, key, ['payers']);
  const seconds = bench.quick ? 3 : 30;
  const order = {
    url,
    key,
    kind: 'patients' as const,
    among: RECORDS,
    connections: CONNECTIONS,
    seconds,
  };
  const written: number[] = [];
  const catchUps: number[] = [];
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`round ${round} of ${bench.rounds}`);
    const { perSecond, endedAt } = await bench.load.run(order);
    await caughtUp(url);
    written.push(perSecond);
    catchUps.push((Date.now() - endedAt) / 1000);
  }
  await server.stop();
  return {
    figures: [],
    checks: [
      {
        what: `requests at ${CONNECTIONS} connections for ${seconds} s`,
        measured: spread(written),
        unit: 'a second',
      },
      {
        what: 'from the end of the load until nothing is behind',
        measured: spread(catchUps),
        unit: 's',
        target: { atMost: 5 },
      },
    ],
  };
}

export const projector: Scenario = {
  name: 'projector',
  description: 'How soon the read models hold everything after a full write load.',
  run,
};
