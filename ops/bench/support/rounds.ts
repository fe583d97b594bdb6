import type { Bench, Table } from '../scenario.ts';
import { caughtUp } from './chartledger.ts';
import type { Load, Order } from './load/measuringProcess.ts';
import { type ThreadUsage, threadUsages, usedByThreads } from './processUsage.ts';
import { number, withRange } from './report.ts';
import type { ServerProcess } from './serverProcess.ts';
import { spread } from './statistics.ts';

/** A load, and what it cost the server; processor time in microseconds per request. */
export interface Measurement extends Load {
  serverCpu: number;
  /** NaN where syncs are not counted. */
  syncs: number;
  /** Mean milliseconds per sync; NaN where there was none. */
  syncMs: number;
  /** Of the server, per request. */
  threads: ThreadUsage[];
}

/** One figure of a measurement. */
export type Figure = Exclude<keyof Measurement, 'threads'>;

export type Timing = Pick<Order, 'connections' | 'seconds'> & { warmUpSeconds: number };

/** One of those that are measured in turns. */
export interface Contestant {
  name: string;
  measure(timing: Timing): Promise<Measurement>;
}

/** Ids of the records that are sent: at first most are new, later most exist. */
export const RECORDS = 50_000;

/**
 * Resolves with what a load costs a server until `settled`, so that nothing that it leaves behind is free; per
 * request sent.
 */
export async function costOf(
  server: ServerProcess,
  load: () => Promise<Load>,
  settled: () => Promise<unknown>,
): Promise<Measurement> {
  await settled();
  const threadsBefore = threadUsages(server.pid);
  const syncsBefore = server.syncs?.read();
  const measured = await load();
  await settled();
  const threads = usedByThreads(threadsBefore, threadUsages(server.pid)).map(({ name, microseconds }) => ({
    name,
    microseconds: microseconds / measured.sent,
  }));
  const syncs = server.syncs?.read();
  const count = syncs && syncsBefore ? syncs.count - syncsBefore.count : Number.NaN;
  const seconds = syncs && syncsBefore ? syncs.seconds - syncsBefore.seconds : Number.NaN;
  return {
    ...measured,
    threads,
    serverCpu:
      threads.length === 0 ? Number.NaN : threads.reduce((sum, { microseconds }) => sum + microseconds, 0),
    syncs: count / measured.sent,
    syncMs: (1000 * seconds) / count,
  };
}

/**
 * Creates a contestant for a server that is sent requests for records of one kind. `settle`: it is the service, whose
 * projector is waited for, so that its work is attributed to the requests that caused it and slows down nobody else.
 */
export function contestant(
  bench: Bench,
  name: string,
  server: ServerProcess,
  request: Pick<Order, 'key' | 'kind' | 'method'> & { among?: number; settle?: boolean },
): Contestant {
  const { settle = false, among = RECORDS, ...rest } = request;
  // A response comes after any work that an earlier load left behind.
  const settled = () => (settle ? caughtUp(server.url) : fetch(server.url));
  return {
    name,
    async measure({ connections, warmUpSeconds, seconds }) {
      const order = { url: server.url, among, connections, ...rest };
      if (warmUpSeconds > 0) await bench.load.run({ ...order, seconds: warmUpSeconds });
      return costOf(server, () => bench.load.run({ ...order, seconds }), settled);
    },
  };
}

/** Measures the contestants in rounds, in an order that is reversed every time. */
export async function inTurns(
  bench: Bench,
  contestants: Contestant[],
  connections: number,
  eachRound: () => void = () => undefined,
): Promise<Map<string, Measurement[]>> {
  const results = new Map<string, Measurement[]>(contestants.map(({ name }) => [name, []]));
  const { warmUpSeconds, seconds } = bench;
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`${connections} connections, round ${round} of ${bench.rounds}`);
    for (const { name, measure } of round % 2 === 1 ? contestants : contestants.toReversed()) {
      results.get(name)?.push(await measure({ connections, warmUpSeconds, seconds }));
    }
    eachRound();
  }
  return results;
}

/** Column names of `rowsOf`. */
export const columns = [
  'connections',
  'server',
  'server CPU µs a request',
  'requests/s',
  'p50 ms',
  'p99 ms',
  'syncs a request',
  'ms a sync',
  'client CPU µs a request',
  'client busy',
];

/** Returns medians and ranges of what was measured, one row per contestant. */
export function rowsOf(connections: number, results: Map<string, Measurement[]>): Table['rows'] {
  return [...results].map(([name, measured]) => {
    const of = (field: Figure) => spread(measured.map((one) => one[field]));
    return [
      String(connections),
      name,
      withRange(of('serverCpu')),
      withRange(of('perSecond')),
      withRange(of('p50')),
      withRange(of('p99')),
      number(of('syncs').median),
      number(of('syncMs').median),
      number(of('clientCpu').median),
      `${number(of('clientBusy').median * 100)} %`,
    ];
  });
}

/** Lets every contestant work for a while before the first round, so that none is measured cold. */
export async function warmUp(bench: Bench, contestants: Contestant[]): Promise<void> {
  for (const { measure } of contestants) {
    await measure({ connections: 16, warmUpSeconds: 0, seconds: bench.quick ? 1 : 15 });
  }
}

/** Returns one figure of all rounds of a contestant. */
export function series(results: Map<string, Measurement[]>, name: string, field: Figure): number[] {
  return (results.get(name) ?? []).map((measurement) => measurement[field]);
}
