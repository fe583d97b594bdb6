import type { Bench, Report, Scenario } from '../scenario.ts';
import { makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { columns, contestant, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { ratios } from '../support/statistics.ts';

const CONNECTIONS = 64;

async function run(bench: Bench): Promise<Report> {
  const stores = await makeStores(bench);
  const server = await startChartledger(bench, stores);
  const { key } = stores.key;
  await seed(bench, server, key, ['payers', 'patients', 'providers', 'facilities']);
  const contestants = [
    contestant(bench, 'encounters', server, { key, kind: 'encounters', settle: true }),
    contestant(bench, 'patients', server, { key, kind: 'patients', settle: true }),
  ];
  await warmUp(bench, contestants);
  const results = await inTurns(bench, contestants, CONNECTIONS);
  await server.stop();
  const throughput = (name: string) => series(results, name, 'perSecond');
  return {
    figures: [{ columns, rows: rowsOf(CONNECTIONS, results) }],
    checks: [
      {
        what: 'encounter upserts/s to patient upserts/s',
        measured: ratios(throughput('encounters'), throughput('patients')),
        unit: '×',
        target: { atLeast: 0.95 },
      },
    ],
  };
}

export const encounter: Scenario = {
  name: 'encounter',
  description:
    'Encounters with four existing references, against patients of 1 KB, both sent to the service.',
  run,
};
