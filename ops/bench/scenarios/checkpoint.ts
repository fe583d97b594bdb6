import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import type { Load } from '../support/load/measuringProcess.ts';
import { withRange } from '../support/report.ts';
import { root } from '../support/serverProcess.ts';
import { ratios, spread } from '../support/statistics.ts';

const CONNECTIONS = 64;
const CHECKPOINT_EVERY_MS = 500;
const FILES = ['events.db', 'read-models.db'];

/** Copies the write-ahead logs of the service's files into them, over and over; returns a function that stops it. */
function checkpoints({ stores }: Chartledger): () => Promise<void> {
  const files = FILES.map((name) => new DatabaseSync(join(stores.folder, name)));
  let ended = false;
  const copy = async () => {
    while (!ended) {
      for (const db of files) db.exec('PRAGMA wal_checkpoint (PASSIVE)');
      await sleep(CHECKPOINT_EVERY_MS);
    }
  };
  const copying = copy();
  return async () => {
    ended = true;
    await copying;
    for (const db of files) db.close();
  };
}

/**
 * Runs a command of the service over and over, each time followed by the arguments that `args` returns; returns a
 * function that stops it.
 */
function repeated({ stores }: Chartledger, command: string, args: () => string[]): () => Promise<void> {
  let ended = false;
  let child = start();
  function start() {
    return spawn(process.execPath, ['src/cli/main.ts', command, ...args()], {
      cwd: root,
      env: { PATH: process.env.PATH, ...stores.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  }
  const repeat = async () => {
    while (!ended) {
      const said = text(child.stderr);
      const [code, signal] = await once(child, 'exit');
      if (!ended && code !== 0) throw new Error(`${command} ended with ${code ?? signal}: ${await said}`);
      if (!ended) child = start();
    }
  };
  const repeating = repeat();
  // It is awaited at the end.
  repeating.catch(() => undefined);
  return async () => {
    ended = true;
    child.kill('SIGTERM');
    await repeating;
  };
}

/** Rebuilds all read models, next to those that serve. */
const rebuilds = (server: Chartledger) => repeated(server, 'projections', () => ['rebuild']);

/** Takes full backups, each into a folder of its own. */
function backups(server: Chartledger): () => Promise<void> {
  const { folder } = server.stores;
  const passphrase = join(folder, 'passphrase');
  writeFileSync(passphrase, randomUUID());
  return repeated(server, 'backup', () => {
    const to = mkdtempSync(join(folder, 'backup-'));
    return [to, '--passphrase-file', passphrase];
  });
}

async function run(bench: Bench): Promise<Report> {
  const stores = await makeStores(bench);
  const events = bench.quick ? 20_000 : 200_000;
  await growLog(bench, stores, { records: events / 5, events });
  const server = await startChartledger(bench, stores);
  const { key } = stores.key;
  await seed(bench, server, key, ['payers']);
  await caughtUp(server.url, 250);
  const seconds = bench.quick ? 2 : 10;
  const order = {
    url: server.url,
    key,
    kind: 'patients',
    among: events / 5,
    connections: CONNECTIONS,
  } as const;
  const load = () => bench.load.run({ ...order, seconds });
  await load();
  const alone: Load[] = [];
  const disturbed: Load[] = [];
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`round ${round} of ${bench.rounds}`);
    await caughtUp(server.url);
    alone.push(await load());
    await caughtUp(server.url);
    const ends = [checkpoints(server), rebuilds(server), backups(server)];
    disturbed.push(await load());
    for (const end of ends) await end();
  }
  await server.stop();
  const p99 = (loads: Load[]) => loads.map((one) => one.p99);
  const row = (name: string, loads: Load[]) => [
    name,
    withRange(spread(loads.map(({ perSecond }) => perSecond))),
    withRange(spread(p99(loads))),
  ];
  return {
    figures: [
      {
        columns: ['upserts', 'requests/s', 'p99 ms'],
        rows: [row('without the rest', alone), row('with checkpoints, rebuilds and backups', disturbed)],
      },
    ],
    checks: [
      {
        what: `p99 at ${CONNECTIONS} connections with checkpoints, rebuilds and backups, to without`,
        measured: ratios(p99(disturbed), p99(alone)),
        unit: '×',
        target: { atMost: 2.5 },
      },
    ],
  };
}

export const checkpoint: Scenario = {
  name: 'checkpoint',
  description:
    `Upserts at ${CONNECTIONS} connections, first without and then with the following in parallel: \`chartledger projections rebuild\` builds the read models of ` +
    '200,000 events (20,000 in the quick form) again, `chartledger backup` copies all of them, and the write-ahead logs are copied into ' +
    'their files twice a second.',
  run,
};
