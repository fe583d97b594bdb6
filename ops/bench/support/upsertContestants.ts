import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Bench } from '../scenario.ts';
import { makeStores, seed, startChartledger } from './chartledger.ts';
import { bodyOf, PATIENT_BYTES } from './load/bodies.ts';
import { type Contestant, contestant } from './rounds.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';
import { walCommits } from './syncs/walCommits.ts';

/** The service and what it is compared with, running and seeded. */
export interface UpsertContestants {
  contestants: Contestant[];
  servers: ServerProcess[];
}

/** Checks the response to one patient, before anything is measured: every server must do what it is there for. */
async function probe({ url }: ServerProcess, key: string, expected: 'echo' | 'success'): Promise<void> {
  const body = bodyOf('patients', 0);
  if (Buffer.byteLength(body) !== PATIENT_BYTES) throw new Error('the patient has the wrong size');
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const response = await fetch(`${url}/integration/patients`, { method: 'POST', headers, body });
  const text = await response.text();
  const { success, warnings = [] } = JSON.parse(text) as { success?: boolean; warnings?: unknown[] };
  const right = expected === 'echo' ? text === body : success === true && warnings.length === 0;
  if (!right) throw new Error(`a server gave an unexpected answer: ${response.status} ${text}`);
}

/** Starts `peer`, whose syncs are counted in any case. */
export async function startPeer(bench: Bench): Promise<ServerProcess> {
  const { folder } = bench;
  const env = { DATA_DIR: folder };
  const peer = await startServer(bench, { script: 'ops/bench/servers/peer.ts', env, folder });
  return { ...peer, syncs: peer.syncs ?? walCommits(join(folder, 'peer.db')) };
}

/** Starts the service, `floor`, `limit`, `peer`, and the peer on MongoDB where that is requested. */
export async function startUpsertContestants(bench: Bench): Promise<UpsertContestants> {
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
    startServer(bench, { script: `ops/bench/servers/${name}.ts`, env, folder });
  await add('floor', await comparison('floor'), key, 'echo');
  await add('limit', await comparison('limit'), key, 'echo');
  await add('peer', await startPeer(bench), key, 'success');
  const mongodb = process.env.TEST_MONGODB_URL;
  if (mongodb && process.env.BENCH_MONGODB === '1') {
    const env = { MONGODB_URL: mongodb, DATABASE: `bench_${randomBytes(4).toString('hex')}` };
    await add('peer, MongoDB', await comparison('mongodbPeer', env), key, 'success');
  }
  return { contestants, servers };
}
