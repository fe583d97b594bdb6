import { auditModel } from '../../../projections/auditTrail.ts';
import { recordsModel } from '../../../projections/records.ts';
import { kindPartition } from '../../../src/domain/events/streams.ts';
import { encodeToken } from '../../../src/modules/records/queries/paging.ts';

import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { loadAuditPage, makeUser, signIn } from '../support/dashboardReader.ts';
import { growLog } from '../support/growLog.ts';
import { growRecord } from '../support/growRecord.ts';
import { readerKey } from '../support/readerKey.ts';
import { number, withRange } from '../support/report.ts';
import { spread } from '../support/statistics.ts';
import { ask, timedReads } from '../support/timedReads.ts';

const VERSIONED = { id: 'patient-of-100', versions: 100 };
const PAGE = 50;

async function run(bench: Bench): Promise<Report> {
  const records = bench.quick ? 20_000 : 1_000_000;
  const stores = await makeStores(bench);
  await makeUser(stores);
  await growLog(bench, stores, { records, events: records });
  await growRecord(stores, VERSIONED.id, VERSIONED.versions);
  const key = await readerKey(stores);
  const server = await startChartledger(bench, stores);
  bench.progress('the read models catch up');
  await caughtUp(server.url, 250);
  const patients = `${server.url}/integration/patients`;
  const trail = `${server.url}/dashboard/workspaces/${stores.key.workspace}/audit`;
  const cookie = await signIn(server.url);
  // Somewhere in the first nine tenths: each read is of a page that is not in a cache, and full.
  const anywhere = (...scope: unknown[]) => encodeToken(Math.floor(Math.random() * records * 0.9), scope);
  const { workspace } = stores.key;
  const someRecords = () =>
    anywhere(recordsModel, kindPartition(workspace, 'patient'), 'created_at', [], undefined);
  const someEntries = () => anywhere(auditModel, workspace, {});
  const times = await timedReads(
    bench,
    server,
    new Map<string, () => Promise<unknown>>([
      ['history', () => ask(`${patients}/${VERSIONED.id}/history?limit=${PAGE}`, key)],
      ['list', () => ask(`${patients}?limit=${PAGE}&page_token=${someRecords()}`, key)],
      ['audit trail', () => loadAuditPage(`${trail}?page_token=${someEntries()}`, cookie)],
    ]),
    bench.quick ? 20 : 400,
  );
  await server.stop();
  const rows = [...times].map(([name, { p50, p99, cpu }]) => [
    name,
    ...[p50, p99, cpu].map((values) => withRange(spread(values))),
  ]);
  const checks = [...times].map(([name, { p99 }]) => ({
    what: `${number(records)} records: p99 of a page of ${PAGE}, ${name}`,
    measured: spread(p99),
    unit: 'ms',
    target: { atMost: 20 },
  }));
  return { figures: [{ columns: ['page', 'p50 ms', 'p99 ms', 'CPU ms'], rows }], checks };
}

export const pages: Scenario = {
  name: 'pages',
  description:
    `Pages of ${PAGE} at 1 million records (20,000 in the quick form), one request after the other: versions of a history ` +
    `of ${VERSIONED.versions}, records of a list and entries of the audit trail in the dashboard, at random places.`,
  run,
};
