import { randomBytes } from 'node:crypto';
import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { MeasuringProcess } from '../support/load/measuringProcess.ts';
import {
  type Contestant,
  columns,
  contestant,
  inTurns,
  RECORDS,
  rowsOf,
  series,
  warmUp,
} from '../support/rounds.ts';
import { ratios } from '../support/statistics.ts';

async function compare(bench: Bench, url: string, appender: MeasuringProcess): Promise<Report> {
  const stores = await makeStores(bench, { EVENT_LOG_URL: url, ROLES: 'api' });
  const server = await startChartledger(bench, stores);
  const { key } = stores.key;
  await seed(bench, server, key, ['payers']);
  const workspace = `raw_${randomBytes(4).toString('hex')}`;
  const raw: Contestant = {
    name: 'raw appends',
    async measure({ connections, seconds }) {
      const order = { url, key: workspace, kind: 'patients' as const, among: RECORDS, connections, seconds };
      const load = await appender.run(order);
      return { ...load, serverCpu: load.clientCpu, syncs: Number.NaN, syncMs: Number.NaN, threads: [] };
    },
  };
  const contestants = [contestant(bench, 'chartledger', server, { key, kind: 'patients' }), raw];
  await warmUp(bench, contestants);
  const rows: string[][] = [];
  const checks: Check[] = [];
  for (const connections of [64, 256]) {
    const results = await inTurns(bench, contestants, connections);
    rows.push(...rowsOf(connections, results));
    checks.push({
      what: `${connections} at a time: requests/s to raw appends/s`,
      measured: ratios(
        series(results, 'chartledger', 'perSecond'),
        series(results, 'raw appends', 'perSecond'),
      ),
      unit: '×',
      target: { atLeast: 0.9 },
    });
  }
  await server.stop();
  return { figures: [{ columns, rows }], checks };
}

async function run(bench: Bench): Promise<Report> {
  const url = process.env.TEST_ESDB_URL;
  if (!url) return { leftOut: 'TEST_ESDB_URL names no server', figures: [], checks: [] };
  const appender = new MeasuringProcess('rawAppends.ts');
  try {
    return await compare(bench, url, appender);
  } finally {
    appender.stop();
  }
}

export const eventstoredb: Scenario = {
  name: 'esdb',
  description:
    'Patients of 1 KB sent to a process of the role `api`, with the event log on the EventStoreDB server that `TEST_ESDB_URL` names, against appends of ' +
    'the same data by the client library itself, whose processor time is that of the appending process.',
  run,
};
