import { execFileSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { residentMegabytes } from '../support/processUsage.ts';
import { RECORDS } from '../support/rounds.ts';
import { ratios, spread } from '../support/statistics.ts';
import { upload as send } from '../support/uploads.ts';

const FILE_MB = 250;
const AT_ONCE = 4;
const CONNECTIONS = 16;
const LOOK_EVERY_MS = 25;
const ENCOUNTER = 'encounter-0';

/** Creates a file of 250 MB that begins like a PDF and otherwise is noise. */
function makeFile(bench: Bench): string {
  const path = join(bench.folder, 'results.pdf');
  const file = openSync(path, 'w');
  const megabyte = Buffer.alloc(1024 * 1024);
  for (let index = 0; index < FILE_MB; index++) {
    randomFillSync(megabyte);
    if (index === 0) megabyte.write('%PDF-1.7\n');
    writeSync(file, megabyte);
  }
  closeSync(file);
  return path;
}

/**
 * Returns the seconds to copy a file and hash it in one pipe; `sync` as in the service, which has the copy on the
 * disk.
 */
function copyAndHash(path: string, sync: boolean): number {
  const copy = `${path}.copy`;
  const startedAt = performance.now();
  const pipe = 'cp "$0" /dev/stdout | tee "$1" | sha256sum';
  execFileSync('sh', ['-c', sync ? `${pipe} && sync "$1"` : pipe, path, copy], { stdio: 'pipe' });
  const seconds = (performance.now() - startedAt) / 1000;
  rmSync(copy);
  return seconds;
}

/** Resolves with the server's peak resident memory while something runs, above what it had before, in MB. */
async function memoryOver(server: Chartledger, work: () => Promise<unknown>): Promise<number> {
  const idle = residentMegabytes(server.pid).all;
  let highest = idle;
  const look = () => {
    highest = Math.max(highest, residentMegabytes(server.pid).all);
  };
  const looking = setInterval(look, LOOK_EVERY_MS);
  await work();
  clearInterval(looking);
  look();
  return highest - idle;
}

/** One upload after the other, each compared with a copy of the same file. */
async function single(bench: Bench, server: Chartledger, path: string): Promise<Check[]> {
  const uploads: number[] = [];
  const copies: number[] = [];
  const syncedCopies: number[] = [];
  const memory: number[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`one upload, round ${round} of ${bench.rounds}`);
    const copy = copyAndHash(path, false);
    const syncedCopy = copyAndHash(path, true);
    let seconds = 0;
    const over = await memoryOver(server, async () => {
      seconds = await send(server, { encounter: ENCOUNTER, id: 'one', path });
    });
    memory.push(over);
    if (round === 0) continue;
    copies.push(copy);
    syncedCopies.push(syncedCopy);
    uploads.push(seconds);
  }
  const rate = (seconds: number[]) => seconds.map((one) => FILE_MB / one);
  return [
    {
      what: `upload of ${FILE_MB} MB to cp and sha256sum in one pipe`,
      measured: ratios(rate(uploads), rate(copies)),
      unit: '×',
      target: { atLeast: 0.7 },
    },
    {
      what: 'the same, with the copy synced to the disk as the upload is',
      measured: ratios(rate(uploads), rate(syncedCopies)),
      unit: '×',
    },
    { what: 'upload', measured: spread(rate(uploads)), unit: 'MB/s' },
    {
      what: 'resident memory over idle, the highest of all uploads',
      measured: spread([Math.max(...memory)]),
      unit: 'MB',
      target: { atMost: 64 },
    },
  ];
}

/** Upserts alone, and while four uploads run at once. */
async function beside(bench: Bench, server: Chartledger, path: string): Promise<Check[]> {
  const { url, stores } = server;
  const [rounds, seconds] = bench.quick ? [1, 2] : [bench.rounds, 8];
  const order = { url, key: stores.key.key, kind: 'patients' as const, among: RECORDS };
  const upserts = () => bench.load.run({ ...order, connections: CONNECTIONS, seconds });
  await upserts();
  const alone: number[] = [];
  const disturbed: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    bench.progress(`${AT_ONCE} uploads during upserts, round ${round} of ${rounds}`);
    alone.push((await upserts()).p99);
    await caughtUp(url);
    const loading = upserts();
    let loaded = false;
    loading
      .finally(() => {
        loaded = true;
      })
      .catch(() => undefined);
    const keepUploading = async (_: unknown, index: number) => {
      while (!loaded) await send(server, { encounter: ENCOUNTER, id: `beside-${index}`, path });
    };
    const [during] = await Promise.all([loading, ...Array.from({ length: AT_ONCE }, keepUploading)]);
    disturbed.push(during.p99);
    await caughtUp(url);
  }
  return [
    {
      what: `p99 of upserts at ${CONNECTIONS} connections, without uploads`,
      measured: spread(alone),
      unit: 'ms',
    },
    {
      what: `the same with ${AT_ONCE} concurrent uploads`,
      measured: ratios(disturbed, alone),
      unit: '×',
      target: { atMost: 3 },
    },
  ];
}

async function run(bench: Bench): Promise<Report> {
  const stores = await makeStores(bench, { DOCUMENT_RETENTION_DAYS: '0' });
  const server = await startChartledger(bench, stores);
  await seed(bench, server, stores.key.key, ['payers', 'providers', 'facilities', 'patients', 'encounters']);
  const path = makeFile(bench);
  const checks = [...(await single(bench, server, path)), ...(await beside(bench, server, path))];
  await server.stop();
  return { figures: [], checks };
}

export const upload: Scenario = {
  name: 'upload',
  description: 'Documents of 250 MB, against copying and hashing the same file, and what they do to upserts.',
  run,
};
