import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { cpuMicroseconds } from '../support/processUsage.ts';
import { readerKey } from '../support/readerKey.ts';
import { number } from '../support/report.ts';
import { ask } from '../support/timedReads.ts';

const SIZES = [10_000, 100_000, 500_000];
const PAGE = 50;
const VERSIONS = 10;

/** Resolves with milliseconds of processor time of all threads for one call each, after another one that is not counted. */
async function measure(bench: Bench, events: number): Promise<Map<string, number>> {
  bench.progress(`${number(events)} events`);
  const stores = await makeStores(bench);
  const records = events / VERSIONS;
  await growLog(bench, stores, { records, events });
  const reader = await readerKey(stores, ['read', 'events']);
  const service = await startChartledger(bench, stores);
  const { url, pid } = service;
  await caughtUp(url);
  const get = (path: string) => ask(`${url}/integration/${path}`, reader);
  // Updates are spread over the log: this record has one version in each part of it.
  const history: { recorded_at: string }[] = JSON.parse(await get('patients/patient-1/history')).items;
  const middle = history.at(-VERSIONS / 2)?.recorded_at as string;
  const calls = {
    'list, first page': `patients?limit=${PAGE}`,
    'list as of the middle, first page': `patients?limit=${PAGE}&as_of=${middle}`,
    snapshot: 'snapshot?kind=patient',
    'snapshot as of the middle': `snapshot?kind=patient&as_of=${middle}`,
    'differences since the middle': `diff?since=${middle}`,
  };
  const found = new Map<string, number>();
  for (const [name, path] of Object.entries(calls)) {
    if (path.startsWith('patients')) await get(path);
    await caughtUp(url);
    const before = cpuMicroseconds(pid);
    await get(path);
    await caughtUp(url);
    found.set(name, (cpuMicroseconds(pid) - before) / 1_000);
  }
  await service.stop();
  return found;
}

async function run(bench: Bench): Promise<Report> {
  const sizes = bench.quick ? SIZES.slice(0, 1) : SIZES;
  const bySize: Map<string, number>[] = [];
  for (const size of sizes) bySize.push(await measure(bench, size));
  const rows = [...(bySize[0]?.keys() ?? [])].map((name) => [
    ...[name, sizes.map(number).join(' / ')],
    bySize.map((found) => number(found.get(name) as number)).join(' / '),
  ]);
  return { figures: [{ columns: ['call', 'events of the log', 'CPU ms'], rows }], checks: [] };
}

export const pastScenario: Scenario = {
  name: 'past',
  description:
    'What lists, snapshots and differences of the past cost by the number of events, with ten versions of each record: milliseconds of ' +
    'processor time of all threads, with the audit trail.',
  isOnlyByName: true,
  run,
};
