import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { evenly } from '../support/evenly.ts';
import { growLog } from '../support/growLog.ts';
import { bodyOf, turnText } from '../support/load/bodies.ts';
import { firstTurn } from '../support/load/requests.ts';
import { threadUsages, usedByThreads } from '../support/processUsage.ts';
import { readerKey } from '../support/readerKey.ts';
import { percentile, spread } from '../support/statistics.ts';
import { type ThreadShare, threadTable } from '../support/threadTable.ts';
import { ask } from '../support/timedReads.ts';

const WRITES_PER_SECOND = 50;
/** One in this many writes is looked for in a list. */
const LOOKED_FOR = 10;
/** Patients on the page that is read; all those looked for are on it. */
const LISTED = 50;
const RECORDS = 5_000;
const GIVE_UP_MS = 10_000;

interface Keys {
  write: string;
  read: string;
}

async function upsert({ url }: Chartledger, key: string, index: number, turn: string): Promise<void> {
  const response = await fetch(`${url}/integration/patients`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: bodyOf('patients', index, turn),
  });
  if (!response.ok) throw new Error(`${response.status} for an upsert: ${await response.text()}`);
  await response.arrayBuffer();
}

/** Resolves with the milliseconds from the response to an upsert until a list has what it wrote. */
async function seenAfter({ url }: Chartledger, key: string, turn: string): Promise<number> {
  const answeredAt = performance.now();
  for (;;) {
    const page = await ask(`${url}/integration/patients?limit=${LISTED}`, key);
    const milliseconds = performance.now() - answeredAt;
    if (page.includes(turn)) return milliseconds;
    if (milliseconds > GIVE_UP_MS) throw new Error('what was written is in no list');
  }
}

/** Writes for a while; resolves with the milliseconds until each write that was looked for was in a list. */
async function work(service: Chartledger, { write, read }: Keys, seconds: number): Promise<number[]> {
  const first = firstTurn();
  const looking: Promise<number>[] = [];
  await evenly(WRITES_PER_SECOND, seconds, async (turn) => {
    const among = turn % LOOKED_FOR === 0 ? LISTED : RECORDS;
    await upsert(service, write, Math.floor(Math.random() * among), turnText(first + turn));
    if (among === RECORDS) return;
    const seen = seenAfter(service, read, turnText(first + turn));
    // The writes continue meanwhile; a failure is reported at the end.
    seen.catch(() => undefined);
    looking.push(seen);
  });
  return (await Promise.all(looking)).sort((a, b) => a - b);
}

/** What each thread used while something went on, in percent of a core. */
async function percentUsed(pid: number, work: () => Promise<unknown>): Promise<ThreadShare[]> {
  const before = threadUsages(pid);
  const startedAt = performance.now();
  await work();
  const milliseconds = performance.now() - startedAt;
  return usedByThreads(before, threadUsages(pid)).map(({ name, microseconds }) => ({
    name,
    used: microseconds / 10 / milliseconds,
  }));
}

async function run(bench: Bench): Promise<Report> {
  const stores = await makeStores(bench);
  await growLog(bench, stores, { records: RECORDS, events: RECORDS });
  const keys = { write: stores.key.key, read: await readerKey(stores) };
  const server = await startChartledger(bench, stores);
  await seed(bench, server, keys.write, ['payers']);
  await caughtUp(server.url);
  const seconds = bench.quick ? 4 : 30;
  const delays: number[][] = [];
  const usages: ThreadShare[][] = [];
  await work(server, keys, seconds / 2);
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`round ${round} of ${bench.rounds}`);
    usages.push(
      await percentUsed(server.pid, async () => void delays.push(await work(server, keys, seconds))),
    );
  }
  await caughtUp(server.url);
  const idle = await percentUsed(server.pid, () => sleep(seconds * 1000));
  await server.stop();
  const total = (threads: ThreadShare[]) => threads.reduce((sum, { used }) => sum + used, 0);
  const seen = (share: number) => spread(delays.map((sorted) => percentile(sorted, share)));
  return {
    figures: [threadTable(['thread', '% of a core'], usages)],
    checks: [
      { what: 'share of a core', measured: spread(usages.map(total)), unit: '%', target: { atMost: 5 } },
      { what: 'of that without any request', measured: spread([total(idle)]), unit: '%' },
      { what: 'from the answer until it is in a list, p50', measured: seen(0.5), unit: 'ms' },
      {
        what: 'from the answer until it is in a list, p99',
        measured: seen(0.99),
        unit: 'ms',
        target: { atMost: 300 },
      },
    ],
  };
}

export const clinic: Scenario = {
  name: 'clinic',
  description:
    `An even ${WRITES_PER_SECOND} upserts a second of patients of 1 KB, one after the other; every tenth is looked for in a ` +
    `list of ${LISTED} patients as soon as it was answered. The share of a core includes those lists.`,
  run,
};
