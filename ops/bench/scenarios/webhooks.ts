import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Report, Scenario } from '../scenario.ts';
import type { Arrivals } from '../servers/receiver.ts';
import { type Chartledger, makeStores, startChartledger } from '../support/chartledger.ts';
import { evenly } from '../support/evenly.ts';
import { growLog } from '../support/growLog.ts';
import { withRange } from '../support/report.ts';
import { type ServerProcess, startServer } from '../support/serverProcess.ts';
import { median, percentile, ratios, spread } from '../support/statistics.ts';

const ARRIVE_WITHIN_MS = 120_000;
const ASK_EVERY_MS = 50;
const WRITES_PER_SECOND = 50;
/** Long enough for tries at an endpoint that hangs to end, which takes 15 seconds, and more to begin. */
const MEASURE_SECONDS = 40;

interface Parties {
  service: Chartledger;
  receiver: ServerProcess;
}

async function request({ service }: Parties, method: string, path: string, body?: object) {
  const response = await fetch(`${service.url}/integration/${path}`, {
    method,
    headers: { 'x-api-key': service.stores.key.key, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

/** Has messages sent to a path of the receiver for as long as something else is done. */
async function withWebhook<Result>(
  parties: Parties,
  path: string,
  start: 'now' | 'beginning',
  during: () => Promise<Result>,
): Promise<Result> {
  const { id } = await request(parties, 'POST', 'webhooks', { url: parties.receiver.url + path, start });
  try {
    return await during();
  } finally {
    await request(parties, 'DELETE', `webhooks/${id}`);
  }
}

/** Waits for `messages` messages, and resolves with all those since it was last called. */
async function arrivalsOf(messages: number, { receiver }: Parties): Promise<Arrivals> {
  const startedAt = performance.now();
  const all: Arrivals = { firstAt: Number.POSITIVE_INFINITY, lastAt: 0, delays: [], hung: 0 };
  while (all.delays.length < messages) {
    if (performance.now() - startedAt > ARRIVE_WITHIN_MS) {
      throw new Error(`${all.delays.length} of ${messages} messages arrived`);
    }
    await sleep(ASK_EVERY_MS);
    const { firstAt, lastAt, delays, hung } = (await (await fetch(receiver.url)).json()) as Arrivals;
    all.hung += hung;
    if (delays.length === 0) continue;
    all.firstAt = Math.min(all.firstAt, firstAt);
    all.lastAt = lastAt;
    all.delays.push(...delays);
  }
  return all;
}

/** Measures messages per second when an endpoint is sent the whole log. */
function sendAll(parties: Parties, events: number): Promise<number> {
  return withWebhook(parties, '/messages', 'beginning', async () => {
    const { firstAt, lastAt } = await arrivalsOf(events, parties);
    return (events * 1_000) / (lastAt - firstAt);
  });
}

/** Writes at an even pace, and resolves with the messages that arrived. */
async function writeEvenly(parties: Parties, seconds: number): Promise<Arrivals> {
  const startedAt = performance.now();
  await evenly(WRITES_PER_SECOND, seconds, (turn) =>
    request(parties, 'POST', 'payers', { id: `payer-${startedAt}-${turn}`, name: 'Aetna' }),
  );
  return arrivalsOf(seconds * WRITES_PER_SECOND, parties);
}

/**
 * Compares the delays of the messages to an endpoint, in rounds each of which includes a part with another endpoint
 * that hangs.
 */
async function compareDelays(bench: Bench, parties: Parties) {
  const seconds = bench.quick ? 3 : MEASURE_SECONDS;
  const alone: number[][] = [];
  const beside: number[][] = [];
  const hung: number[] = [];
  const sorted = ({ delays }: Arrivals) => delays.sort((a, b) => a - b);
  const parts = [
    async () => alone.push(sorted(await writeEvenly(parties, seconds))),
    async () => {
      const arrivals = await withWebhook(parties, '/hang', 'now', () => writeEvenly(parties, seconds));
      if (arrivals.hung === 0) throw new Error('nothing was sent to the endpoint that hangs');
      beside.push(sorted(arrivals));
      hung.push(arrivals.hung);
    },
  ];
  await withWebhook(parties, '/messages', 'now', async () => {
    await writeEvenly(parties, bench.warmUpSeconds);
    for (let round = 1; round <= bench.rounds; round++) {
      bench.progress(`delays, round ${round} of ${bench.rounds}`);
      for (const part of round % 2 === 1 ? parts : parts.toReversed()) await part();
    }
  });
  return { alone, beside, hung };
}

async function run(bench: Bench): Promise<Report> {
  const events = bench.quick ? 5_000 : 50_000;
  const env = { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' };
  const stores = await makeStores(bench, env, ['write', 'webhooks']);
  await growLog(bench, stores, { records: events / 5, events });
  const receiver = await startServer(bench, {
    script: 'ops/bench/servers/receiver.ts',
    env: {},
    folder: bench.folder,
  });
  const parties = { service: await startChartledger(bench, stores), receiver };
  const rates: number[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`${events} messages, round ${round} of ${bench.rounds}`);
    const rate = await sendAll(parties, events);
    // The first one is sent by a process that has not warmed up.
    if (round > 0) rates.push(rate);
  }
  const { alone, beside, hung } = await compareDelays(bench, parties);
  await parties.service.stop();
  await receiver.stop();
  const row = (name: string, delays: number[][]) => [
    name,
    withRange(spread(delays.map(median))),
    withRange(spread(delays.map((sorted) => percentile(sorted, 0.99)))),
  ];
  return {
    figures: [
      {
        columns: ['from the log to the endpoint', 'p50 ms', 'p99 ms'],
        rows: [row('without one that hangs', alone), row('with one that hangs', beside)],
      },
    ],
    checks: [
      {
        what: 'messages to one endpoint that is behind',
        measured: spread(rates),
        unit: 'a second',
        target: { atLeast: 1_000 },
      },
      { what: 'messages to the endpoint that hangs, in a part', measured: spread(hung), unit: '' },
      {
        what: 'median delay with an endpoint that hangs, to without',
        measured: ratios(beside.map(median), alone.map(median)),
        unit: '×',
        target: { atMost: 1.2 },
      },
    ],
  };
}

export const webhooks: Scenario = {
  name: 'webhooks',
  description:
    'Messages to a local endpoint that accepts them immediately: how many a second when it is behind by a whole log, and how ' +
    `long after its event each arrives, at ${WRITES_PER_SECOND} writes a second, with and without another webhook whose ` +
    'endpoint never answers.',
  run,
};
