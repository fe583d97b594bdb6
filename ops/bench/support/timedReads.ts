import { request } from 'undici';
import type { Bench } from '../scenario.ts';
import { type Chartledger, caughtUp } from './chartledger.ts';
import { cpuMicroseconds } from './processUsage.ts';
import { percentile } from './statistics.ts';

/** For one kind of read, one figure per round. */
export interface ReadTimes {
  /** Milliseconds until the response arrived. */
  p50: number[];
  p99: number[];
  /**
   * Milliseconds of processor time of all threads of the service per read, including what the projector does with its
   * audit entry.
   */
  cpu: number[];
}

/**
 * Times reads, one request after the other: in each round the same number of each kind, the kinds in an order that is
 * reversed every time. The round before the first one is not counted.
 */
export async function timedReads(
  bench: Bench,
  { url, pid }: Chartledger,
  reads: Map<string, () => Promise<unknown>>,
  repeats: number,
): Promise<Map<string, ReadTimes>> {
  const times = new Map<string, ReadTimes>(
    [...reads.keys()].map((name) => [name, { p50: [], p99: [], cpu: [] }]),
  );
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`reads, round ${round} of ${bench.rounds}`);
    for (const [name, read] of round % 2 === 1 ? reads : [...reads].toReversed()) {
      await caughtUp(url);
      const cpuBefore = cpuMicroseconds(pid);
      const found: number[] = [];
      for (let turn = 0; turn < repeats; turn++) {
        const startedAt = performance.now();
        await read();
        found.push(performance.now() - startedAt);
      }
      await caughtUp(url);
      if (round === 0) continue;
      const cpu = (cpuMicroseconds(pid) - cpuBefore) / 1000 / repeats;
      found.sort((a, b) => a - b);
      const of = times.get(name) as ReadTimes;
      of.p50.push(percentile(found, 0.5));
      of.p99.push(percentile(found, 0.99));
      of.cpu.push(cpu);
    }
  }
  return times;
}

/** Sends a read to the API; resolves with the text of the response, and rejects when that is not 200. */
export function ask(url: string, key: string, search?: object): Promise<string> {
  const headers = { 'x-api-key': key };
  if (search === undefined) return textOf(url, { headers });
  const posted = { ...headers, 'content-type': 'application/json' };
  return textOf(url, { method: 'POST', headers: posted, body: JSON.stringify(search) });
}

/**
 * Resolves with the text of the response to a request, and rejects when that is not 200. Not with `fetch`: collecting its garbage
 * takes so long that it made up the p99 of what is measured.
 */
export async function textOf(url: string, options: Parameters<typeof request>[1]): Promise<string> {
  const { statusCode, body } = await request(url, options);
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${statusCode} for ${url}: ${text}`);
  return text;
}
