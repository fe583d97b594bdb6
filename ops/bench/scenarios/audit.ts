import { auditModel } from '../../../projections/auditTrail.ts';
import { encodeToken } from '../../../src/modules/records/queries/paging.ts';

import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { loadAuditPage, makeUser, signIn } from '../support/dashboardReader.ts';
import { growLog } from '../support/growLog.ts';
import { number, withRange } from '../support/report.ts';
import { ratios, spread } from '../support/statistics.ts';
import { type ReadTimes, timedReads } from '../support/timedReads.ts';

const RECORDS = 5_000;

async function run(bench: Bench): Promise<Report> {
  const entries = bench.quick ? 10_000 : 100_000;
  const stores = await makeStores(bench);
  await makeUser(stores);
  const half = { records: RECORDS, events: entries / 2 };
  await growLog(bench, stores, half);
  const middle = new Date().toISOString();
  await growLog(bench, stores, half);
  const server = await startChartledger(bench, stores);
  await caughtUp(server.url);
  const cookie = await signIn(server.url);
  const queries = Object.entries({
    'the newest': '',
    'far down': `page_token=${encodeToken(entries / 2, [auditModel, stores.key.workspace, {}])}`,
    'before a time': `to=${middle}`,
    'of the key': `principal=${stores.key.id}`,
    'of one record': 'id=patient-77',
    'of a record that is not there': 'id=nobody',
    'of a key and refused: none': `principal=${stores.key.id}&outcome=refused`,
  });
  const trail = `${server.url}/dashboard/workspaces/${stores.key.workspace}/audit`;
  const pages = queries.map(
    ([name, query]) => [name, () => loadAuditPage(`${trail}?${query}`, cookie)] as const,
  );
  const times = await timedReads(bench, server, new Map(pages), bench.quick ? 5 : 50);
  await server.stop();
  const newest = times.get('the newest') as ReadTimes;
  const checks: Check[] = [...times]
    .filter(([, measured]) => measured !== newest)
    .map(([name, { p50 }]) => ({
      what: `${number(entries)} entries: the page ${name} to the newest`,
      measured: ratios(p50, newest.p50),
      unit: '×',
    }));
  const rows = [...times].map(([name, { p50 }]) => [name, withRange(spread(p50))]);
  return { figures: [{ columns: ['page', 'ms'], rows }], checks };
}

export const audit: Scenario = {
  name: 'audit',
  description:
    'Pages of 50 entries of an audit trail in the dashboard, each read recorded in it, in a log of 100,000 upserts ' +
    '(10,000 in the quick form); one request after the other.',
  run,
};
