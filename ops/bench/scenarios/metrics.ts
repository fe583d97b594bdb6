import { freePort } from '../../../test/support/servers.ts';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { type Chartledger, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { type Contestant, columns, contestant, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { ratios } from '../support/statistics.ts';

const CONNECTIONS = [16, 64];
const SCRAPED_EVERY_MS = 1_000;
const [WITH, WITHOUT] = ['with metrics', 'without'];

async function start(
  bench: Bench,
  name: string,
  env: Record<string, string>,
): Promise<[Chartledger, Contestant]> {
  const stores = await makeStores(bench, env);
  const server = await startChartledger(bench, stores);
  await seed(bench, server, stores.key.key, ['payers']);
  return [server, contestant(bench, name, server, { key: stores.key.key, kind: 'patients', settle: true })];
}

async function run(bench: Bench): Promise<Report> {
  const port = await freePort();
  const [scraped, withMetrics] = await start(bench, WITH, { METRICS_PORT: String(port) });
  const [bare, without] = await start(bench, WITHOUT, {});
  const scraping = setInterval(() => {
    fetch(`http://127.0.0.1:${port}/metrics`)
      .then((answer) => answer.text())
      .catch(() => undefined);
  }, SCRAPED_EVERY_MS);
  const report: Report = { figures: [], checks: [] };
  try {
    const contestants = [withMetrics, without];
    await warmUp(bench, contestants);
    const rows: string[][] = [];
    for (const connections of CONNECTIONS) {
      const results = await inTurns(bench, contestants, connections);
      rows.push(...rowsOf(connections, results));
      const of = (field: 'serverCpu' | 'perSecond') =>
        ratios(series(results, WITH, field), series(results, WITHOUT, field));
      const what = `${connections} connections, with metrics to without`;
      report.checks.push(
        { what: `${what}: processor time an upsert`, measured: of('serverCpu'), unit: '×' },
        { what: `${what}: upserts/s`, measured: of('perSecond'), unit: '×' },
      );
    }
    report.figures.push({ columns, rows });
  } finally {
    clearInterval(scraping);
  }
  await scraped.stop();
  await bare.stop();
  return report;
}

export const metrics: Scenario = {
  name: 'metrics',
  description:
    'The upserts of `upsert`, by a service that keeps metrics, which are read once a second, and by one that keeps none, in turns.',
  run,
};
