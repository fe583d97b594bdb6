import { randomBytes } from 'node:crypto';
import type { Bench, Check, Report, Scenario, Table } from '../scenario.ts';
import { bodies, PATIENT_BYTES } from '../support/bodies.ts';
import { makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { fdatasyncRate } from '../support/disk.ts';
import type { Measurement } from '../support/measuringProcess.ts';
import { type Contestant, columns, contestant, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { type ServerProcess, startServer } from '../support/serverProcess.ts';
import { ratios, spread } from '../support/statistics.ts';

const CONNECTIONS = [1, 16, 64, 256];
const DISK_SECONDS = 0.5;

/** The answer to one patient, before anything is measured: every server must do what it is there for. */
async function probe({ url }: ServerProcess, key: string, expected: 'echo' | 'success'): Promise<void> {
  const body = bodies.patients(0);
  if (Buffer.byteLength(body) !== PATIENT_BYTES) throw new Error('the patient has the wrong size');
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const response = await fetch(`${url}/integration/patients`, { method: 'POST', headers, body });
  const text = await response.text();
  const { success, warnings = [] } = JSON.parse(text) as { success?: boolean; warnings?: unknown[] };
  const right = expected === 'echo' ? text === body : success === true && warnings.length === 0;
  if (!right) throw new Error(`a server gave an unexpected answer: ${response.status} ${text}`);
}

/** The service and what it is compared with, running and seeded. */
async function startContestants(
  bench: Bench,
): Promise<{ contestants: Contestant[]; servers: ServerProcess[] }> {
  const servers: ServerProcess[] = [];
  const contestants: Contestant[] = [];
  const { folder } = bench;
  const add = async (name: string, server: ServerProcess, key: string, expected: 'echo' | 'success') => {
    servers.push(server);
    if (expected === 'success') await seed(bench, server, key, ['payers']);
    await probe(server, key, expected);
    contestants.push(
      contestant(bench, name, server, { key, kind: 'patients', settle: name === 'chartledger' }),
    );
  };
  const stores = await makeStores(bench);
  const { key } = stores.key;
  await add('chartledger', await startChartledger(bench, stores), key, 'success');
  const comparison = (name: string, env: Record<string, string> = {}) =>
    startServer({ script: `ops/bench/servers/${name}.ts`, env, folder });
  await add('floor', await comparison('floor'), key, 'echo');
  await add('limit', await comparison('limit'), key, 'echo');
  await add('peer', await comparison('peer', { DATA_DIR: folder }), key, 'success');
  const mongodb = process.env.TEST_MONGODB_URL;
  if (mongodb && process.env.BENCH_MONGODB === '1') {
    const env = { MONGODB_URL: mongodb, DATABASE: `bench_${randomBytes(4).toString('hex')}` };
    await add('peer, MongoDB', await comparison('mongodbPeer', env), key, 'success');
  }
  return { contestants, servers };
}

function checksOf(connections: number, results: Map<string, Measurement[]>, syncMs: number[]): Check[] {
  const at = connections === 1 ? '1 connection' : `${connections} connections`;
  const ratio = (field: keyof Measurement, to: string) =>
    ratios(series(results, 'chartledger', field), series(results, to, field));
  const throughput = (to: string, atLeast?: number): Check => ({
    what: `${at}: requests/s to ${to}`,
    measured: ratio('perSecond', to),
    unit: `× ${to}`,
    ...(atLeast !== undefined && { target: { atLeast } }),
  });
  if (connections === 1) {
    const floorAndDisk = series(results, 'floor', 'p50').map((p50, round) => p50 + (syncMs[round] as number));
    return [
      throughput('peer', 1.1),
      {
        what: `${at}: p50 to floor p50 and one fdatasync`,
        measured: ratios(series(results, 'chartledger', 'p50'), floorAndDisk),
        unit: '×',
        target: { atMost: 1.3 },
      },
    ];
  }
  if (connections === 16) return [throughput('floor', 1.1), throughput('peer')];
  return [
    throughput('floor', 1.6),
    throughput('peer', 5.5),
    {
      what: `${at}: p99 to floor`,
      measured: ratio('p99', 'floor'),
      unit: '× floor',
      target: { atMost: 1.5 },
    },
    throughput('limit'),
  ];
}

async function run(bench: Bench): Promise<Report> {
  const { contestants, servers } = await startContestants(bench);
  await warmUp(bench, contestants);
  const figures: Table = { columns, rows: [] };
  const checks: Check[] = [];
  const rates: number[] = [];
  for (const connections of CONNECTIONS) {
    const syncMs: number[] = [];
    const results = await inTurns(bench, contestants, connections, () => {
      const rate = fdatasyncRate(bench.folder, DISK_SECONDS);
      rates.push(rate);
      syncMs.push(1000 / rate);
    });
    figures.rows.push(...rowsOf(connections, results));
    checks.push(...checksOf(connections, results, syncMs));
  }
  checks.push({ what: 'disk: 1 KB appended and fdatasync', measured: spread(rates), unit: 'a second' });
  for (const server of servers) await server.stop();
  return { figures: [figures], checks };
}

export const upsert: Scenario = {
  name: 'upsert',
  description:
    'Patients of 1 KB that name a payer, new and existing mixed, against an Express echo (floor), a `node:http` echo ' +
    '(limit), and Express with zod and one durable UPSERT a request without history (peer).',
  run,
};
