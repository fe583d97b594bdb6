import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuMicroseconds } from '../processUsage.ts';
import { loadOf } from './answers.ts';
import type { Load, Order } from './measuringProcess.ts';
import { firstTurn, headersOf, prepare } from './requests.ts';

const script = fileURLToPath(new URL('wrk.lua', import.meta.url));
/** Between two requests on the standard input of the script. */
const SEPARATOR = '\x1e';

/** What the script prints at the end. */
interface Result {
  requests: number;
  failed: number;
  status: number;
  timeouts: number;
  microseconds: number;
  latencies: [microseconds: number, requests: number][];
}

/** Returns the requests of an order as they are sent over the wire. */
function wireTexts(order: Order): string[] {
  const { host } = new URL(order.url);
  const headers = Object.entries({ host, ...headersOf(order) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const { method = 'POST' } = order;
  return prepare(order).map(({ path, body }) => {
    const length = body && `content-length: ${Buffer.byteLength(body)}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${headers.join('')}${length}\r\n${body}`;
  });
}

/**
 * Returns the latencies as they were, sorted, in milliseconds. wrk adds some that it believes to have missed: for a
 * latency of more than twice the mean, those of requests that would have been sent meanwhile. autocannon adds none.
 */
function measuredLatencies({ requests, microseconds, latencies }: Result, connections: number): Float64Array {
  const counts = new Map(latencies);
  const each = Math.floor(requests / connections);
  const mean = each > 0 ? Math.floor(microseconds / each) : Number.POSITIVE_INFINITY;
  for (const [value] of latencies.toReversed()) {
    if (value < 2 * mean) break;
    const count = counts.get(value) as number;
    for (let added = value - mean; count > 0 && added > mean; added -= mean) {
      counts.set(added, (counts.get(added) ?? 0) - count);
    }
  }
  const sorted = new Float64Array(requests);
  let at = 0;
  for (const [value] of latencies) {
    const count = counts.get(value) as number;
    sorted.fill(value / 1000, at, at + count);
    at += count;
  }
  if (at !== requests) throw new Error(`wrk reports ${requests} requests, and latencies of ${at}`);
  return sorted;
}

/** Sends an order with wrk. Rejects when a request failed, or was answered with a status of 400 or above. */
export async function wrkLoad(order: Order): Promise<Load> {
  const { url, connections } = order;
  const args = ['-t1', `-c${connections}`, '-d86400s', '--timeout=30s', '-s', script, url, '--'];
  const wrk = spawn('wrk', [...args, String(firstTurn())], { stdio: ['pipe', 'pipe', 'inherit'] });
  const kill = () => wrk.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(wrk, 'close').finally(() => process.off('exit', kill));
  let printed = '';
  wrk.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk;
  });
  // A wrk that ends at once is reported below.
  wrk.stdin.on('error', () => undefined);
  wrk.stdin.end(wireTexts(order).join(SEPARATOR));
  const wrongEnd = ended.then(() => {
    throw new Error(`wrk ended: ${printed}`);
  });
  await Promise.race([once(wrk.stdout, 'data'), wrongEnd]);
  const cpuBefore = cpuMicroseconds(wrk.pid as number);
  await Promise.race([sleep(order.seconds * 1000), wrongEnd]);
  const clientMicroseconds = cpuMicroseconds(wrk.pid as number) - cpuBefore;
  wrongEnd.catch(() => undefined);
  wrk.kill('SIGINT');
  const endedAt = Date.now();
  await ended;
  const result: Result = JSON.parse(printed.trimEnd().split('\n').at(-1) as string);
  if (result.failed > 0) throw new Error(JSON.stringify({ ...result, latencies: undefined }));
  const load = loadOf({
    latencies: measuredLatencies(result, connections),
    milliseconds: result.microseconds / 1000,
    clientMicroseconds,
    endedAt,
  });
  // Each connection has sent one more, since none waits between a response and the next request.
  return { ...load, sent: load.requests + connections };
}
