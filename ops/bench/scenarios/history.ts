import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, type Stores, startChartledger } from '../support/chartledger.ts';
import { growRecord } from '../support/growRecord.ts';
import { readerKey } from '../support/readerKey.ts';
import { number, withRange } from '../support/report.ts';
import { ratios, spread } from '../support/statistics.ts';
import { ask, type ReadTimes, timedReads } from '../support/timedReads.ts';

const VERSIONS = [1, 100, 10_000];
const PAGE = 50;

const recordOf = (versions: number) => `patient-of-${versions}`;

/** Creates stores with all the records, and a key that may read. */
async function makeHistory(bench: Bench): Promise<{ stores: Stores; key: string }> {
  const stores = await makeStores(bench);
  for (const versions of VERSIONS) {
    bench.progress(`a record of ${number(versions)} versions`);
    await growRecord(stores, recordOf(versions), versions);
  }
  return { stores, key: await readerKey(stores) };
}

/** Returns the checks of what was read of a record with `versions` versions. */
function checksOf(versions: number, times: Map<string, ReadTimes>): Check[] {
  const plain = times.get('record') as ReadTimes;
  const others = [...times].filter(([, measured]) => measured !== plain);
  const checks: Check[] = others.map(([read, { p50 }]) => ({
    what: `${number(versions)} versions: ${read} to the record`,
    measured: ratios(p50, plain.p50),
    unit: '×',
  }));
  if (versions < PAGE) return checks;
  const cpu = spread((times.get('newest page of its history') as ReadTimes).cpu);
  const what = `${number(versions)} versions: processor time of a page of ${PAGE}`;
  return [{ what, measured: cpu, unit: 'ms', target: { atMost: 1 } }, ...checks];
}

async function run(bench: Bench): Promise<Report> {
  const { stores, key } = await makeHistory(bench);
  const server = await startChartledger(bench, stores);
  await caughtUp(server.url);
  const rows: string[][] = [];
  const checks: Check[] = [];
  for (const versions of VERSIONS) {
    bench.progress(`reads of the record of ${number(versions)} versions`);
    const record = `${server.url}/integration/patients/${recordOf(versions)}`;
    const middle = JSON.parse(await ask(`${record}?version=${Math.ceil(versions / 2)}`, key)).updated_at;
    const reads = new Map([
      ['record', () => ask(record, key)],
      ['newest page of its history', () => ask(`${record}/history?limit=${PAGE}`, key)],
      ['record as of its middle', () => ask(`${record}?as_of=${middle}`, key)],
    ]);
    const times = await timedReads(bench, server, reads, bench.quick ? 30 : 200);
    for (const [read, { p50, cpu }] of times) {
      rows.push([number(versions), read, withRange(spread(p50)), withRange(spread(cpu))]);
    }
    checks.push(...checksOf(versions, times));
  }
  await server.stop();
  return { figures: [{ columns: ['versions', 'read', 'ms', 'CPU ms'], rows }], checks };
}

export const history: Scenario = {
  name: 'history',
  description:
    `Records of 1, 100 and 10,000 versions of 1 KB: the newest page of the history (${PAGE} versions) and the record as ` +
    'of the middle of its history, each against a plain read of the same record, one request after the other. ' +
    'Processor time is that of all threads of the service, with what the audit trail takes.',
  run,
};
