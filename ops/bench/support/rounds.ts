import type { Bench, Table } from '../scenario.ts';
import type { Kind } from './bodies.ts';
import { caughtUp } from './chartledger.ts';
import type { Measurement, Order } from './measuringProcess.ts';
import { number, withRange } from './report.ts';
import type { ServerProcess } from './serverProcess.ts';
import { spread } from './statistics.ts';

/** One of those that are measured in turns. */
export interface Contestant {
  name: string;
  measure(timing: Pick<Order, 'connections' | 'warmUpSeconds' | 'seconds'>): Promise<Measurement>;
}

/** Ids of the records that are sent: at first most are new, later most exist. */
export const RECORDS = 50_000;

/** A server that is sent records of one kind. */
export function contestant(
  bench: Bench,
  name: string,
  server: ServerProcess,
  request: { key: string; kind: Kind; among?: number; settle?: boolean },
): Contestant {
  const { key, kind, among = RECORDS, settle = false } = request;
  const { url, pid } = server;
  return {
    name,
    async measure(timing) {
      const measurement = await bench.load.run({ url, pid, key, kind, among, ...timing });
      // What the projector still has to do must not slow down whoever comes next.
      if (settle) await caughtUp(url);
      return measurement;
    },
  };
}

/** Measures the contestants in rounds, in an order that turns around every time. */
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
  'requests/s',
  'p50 ms',
  'p99 ms',
  'server CPU µs a request',
  'client CPU µs a request',
  'client busy',
];

/** Medians and ranges of what was measured, a row a contestant. */
export function rowsOf(connections: number, results: Map<string, Measurement[]>): Table['rows'] {
  return [...results].map(([name, measured]) => {
    const of = (field: keyof Measurement) => spread(measured.map((one) => one[field]));
    return [
      String(connections),
      name,
      withRange(of('perSecond')),
      withRange(of('p50')),
      withRange(of('p99')),
      number(of('serverCpu').median),
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

/** One field of all rounds of a contestant. */
export function series(
  results: Map<string, Measurement[]>,
  name: string,
  field: keyof Measurement,
): number[] {
  return (results.get(name) ?? []).map((measurement) => measurement[field]);
}
