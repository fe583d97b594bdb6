import { cpus } from 'node:os';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { costOf } from '../support/rounds.ts';
import { type ServerProcess, startServer } from '../support/serverProcess.ts';
import { median, percentile, spread } from '../support/statistics.ts';

/**
 * The processor time of an upsert in those of an echo, as this scenario measures it: the middle of several runs on a busy machine. Caches
 * and clocks differ, so a figure holds for one model of processor, and nothing is refused on another one. That of the Xeon was measured before
 * decision 157, and is too high by now.
 */
const COMMITTED: Readonly<Record<string, number>> = { 'AMD EPYC': 5.1, 'Intel(R) Xeon(R) Processor': 7.1 };
/** How far above it a run may be. */
const TOLERANCE = 0.15;
/** Of the median: rounds that differ more refuse nothing. */
const MOST_SPREAD = 0.3;

const CONNECTIONS = 64;
/** Requests in each part of a round: a round is so short that what slows down the machine slows down all of it. */
const REQUESTS = 1_000;
/** By then V8 has optimized what is measured. */
const WARM_UP_ROUNDS = 8;
const MOST_ROUNDS = 20;
const LEAST_ROUNDS = 12;
/** After that time, the least rounds are enough. */
const MOST_MS = 45_000;
/** Threads of V8 spend more time, waiting for each other, the busier the machine is. What causes their work costs the others as well. */
const HELPERS = 'V8Worker';

interface Servers {
  service: Chartledger;
  echo: ServerProcess;
}

/** Resolves with the microseconds of the threads of a server a request. */
async function cost(
  bench: Bench,
  server: ServerProcess,
  key: string,
  settled: () => Promise<unknown>,
): Promise<number> {
  const order = { url: server.url, key, kind: 'patients', among: REQUESTS, once: true, seconds: 0 } as const;
  const load = () => bench.load.run({ ...order, connections: CONNECTIONS });
  const { threads } = await costOf(server, load, settled);
  const counted = threads.filter(({ name }) => name !== HELPERS);
  return counted.reduce((sum, { microseconds }) => sum + microseconds, 0);
}

/** Resolves with the ratios of the rounds. */
async function measure(bench: Bench): Promise<number[]> {
  const stores = await makeStores(bench);
  const { key } = stores.key;
  const service = await startChartledger(bench, stores);
  await seed(bench, service, key, ['payers']);
  const { folder } = bench;
  const echo = await startServer(bench, { script: 'ops/bench/servers/limit.ts', env: {}, folder });
  const found = await measureRounds(bench, { service, echo }, key);
  for (const server of [service, echo]) await server.stop();
  return found;
}

async function measureRounds(bench: Bench, { service, echo }: Servers, key: string): Promise<number[]> {
  const found: number[] = [];
  const until = performance.now() + MOST_MS;
  const echoed = () => cost(bench, echo, key, () => fetch(echo.url));
  for (
    let turn = 0;
    found.length < LEAST_ROUNDS || (found.length < MOST_ROUNDS && performance.now() < until);
    turn += 1
  ) {
    // The echo before and after it.
    const before = await echoed();
    const ours = await cost(bench, service, key, () => caughtUp(service.url));
    const after = await echoed();
    if (turn >= WARM_UP_ROUNDS) found.push((2 * ours) / (before + after));
  }
  return found;
}

const round = (figure: number) => Math.round(100 * figure) / 100;

/** Whether the middle half of the rounds lies so close together that their median says something. */
function isSettled(rounds: number[]): boolean {
  const sorted = rounds.toSorted((a, b) => a - b);
  return percentile(sorted, 0.75) - percentile(sorted, 0.25) < MOST_SPREAD * median(rounds);
}

async function run(bench: Bench): Promise<Report> {
  const model = cpus()[0]?.model ?? '';
  const committed = COMMITTED[model];
  const limit = committed === undefined ? Number.POSITIVE_INFINITY : round(committed * (1 + TOLERANCE));
  const isAbove = (rounds: number[]) => median(rounds) > limit && isSettled(rounds);
  let rounds = await measure(bench);
  if (committed === undefined) bench.progress(`there is no figure for ${model}: nothing is refused`);
  // Once more, in new processes: only what is above it twice is refused.
  if (isAbove(rounds)) {
    bench.progress(`${median(rounds).toFixed(2)} is above ${limit}; it is measured again`);
    rounds = await measure(bench);
  }
  const measured = spread(rounds);
  const what = `${CONNECTIONS} connections: processor time of an upsert, to an echo`;
  return {
    figures: [],
    checks: [{ what, measured, unit: '×', ...(committed !== undefined && { target: { atMost: limit } }) }],
    ...(isAbove(rounds) && {
      exceeded:
        `An upsert takes ${measured.median.toFixed(2)} times the processor time of an echo: more than ${limit}, which is ` +
        `${TOLERANCE * 100} % above the figure in ops/bench/scenarios/gate.ts. If the change is worth it, set that figure to the ` +
        'middle of ten runs, and say in the commit what the time is spent on.',
    }),
  };
}

export const gate: Scenario = {
  name: 'gate',
  description:
    'The processor time of an upsert to that of a `node:http` echo, without the helper threads of V8, in rounds of 1,000 requests: fails ' +
    'if it has grown by more than 15 %.',
  isOnlyByName: true,
  run,
};
