import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { ServiceProcess, serviceCommand } from '../support/processes.ts';
import { freePort } from '../support/servers.ts';

let folder: string;
let env: Record<string, string>;
let running: ServiceProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-log-'));
  env = { DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'debug', NODE_ENV: 'production', HOME: folder };
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A service that logs into a pipe, as it is in a shell, and the end of the pipe that reads. */
function startIntoPipe(command: string[]): { service: ServiceProcess; reader: Socket } {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) });
  const stdout = openSync(path, constants.O_WRONLY);
  const service = new ServiceProcess(env, { command, stdout });
  closeSync(stdout);
  running.push(service);
  reader.on('data', (chunk) => service.take(chunk));
  return { service, reader };
}

/** A service that logs into a file, and where it listens, which it cannot tell there. */
async function startIntoFile(path: string): Promise<{ service: ServiceProcess; url: string }> {
  const port = await freePort();
  const stdout = openSync(path, constants.O_WRONLY | constants.O_CREAT);
  const service = new ServiceProcess({ ...env, PORT: `${port}` }, { stdout });
  closeSync(stdout);
  running.push(service);
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(`${url}/healthz`), 60_000);
  return { service, url };
}

/** Sends so many requests, each of which is a line of the log; all are answered. */
async function request(url: string, count: number): Promise<void> {
  const pool = new Pool(url, { connections: 16 });
  const one = async () => {
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/healthz' });
    await body.dump();
    expect(statusCode).toBe(200);
  };
  await Promise.all(Array.from({ length: count }, one));
  await pool.close();
}

function linesOf(log: string): Record<string, unknown>[] {
  const lines = log.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line));
}

/** Requests whose lines are in the log, and those whose lines are told to be lost. */
function countsOf(log: string): { logged: number; lost: number } {
  const lines = linesOf(log);
  const lost = lines.map((line) => (line.lost as number | undefined) ?? 0);
  return {
    logged: lines.filter(({ route }) => route === '/healthz').length,
    lost: lost.reduce((sum, one) => sum + one, 0),
  };
}

describe.each([
  ['node', serviceCommand],
  ['npm start', ['npm', 'start', '--silent']],
])('the log of %s on a pipe', (_label, command) => {
  test('whose reader pauses: lines are lost, counted and told; the service answers, within bounds, and ends', async () => {
    const { service, reader } = startIntoPipe(command);
    const url = await service.url();
    reader.pause();
    await request(url, 9_000);
    reader.resume();
    await eventually(() => {
      const { logged, lost } = countsOf(service.stdout);
      expect(lost).toBeGreaterThan(0);
      expect(logged + lost).toBe(9_000);
    }, 30_000);
    const before = countsOf(service.stdout);
    await request(url, 10);
    await eventually(() =>
      expect(countsOf(service.stdout)).toEqual({ logged: before.logged + 10, lost: before.lost }),
    );
    // Now for good.
    reader.pause();
    await request(url, 2_000);
    expect(await service.end()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('rror') });
  });

  test('whose reader exits: the service goes on', async () => {
    const { service, reader } = startIntoPipe(command);
    const url = await service.url();
    reader.destroy();
    await once(reader, 'close');
    await request(url, 500);
    expect(await service.end()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('rror') });
  });
});

describe('the log on a file system', () => {
  test('that is full: the service starts, goes on and ends', async () => {
    const { service, url } = await startIntoFile('/dev/full');
    await request(url, 500);
    expect(await service.end()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('rror') });
  });

  (canMount() ? test : test.skip)(
    'that is full for a while: what was lost is told when there is room',
    async () => {
      const disk = new SmallDisk('64k');
      try {
        const log = join(disk.path, 'log');
        const { url } = await startIntoFile(log);
        await request(url, 8_000);
        disk.resize('16m');
        await request(url, 1);
        await eventually(() => {
          const { logged, lost } = countsOf(readFileSync(log, 'utf8'));
          expect(lost).toBeGreaterThan(0);
          expect(logged + lost).toBeGreaterThanOrEqual(8_001);
        }, 30_000);
        for (const service of running) await service.end();
      } finally {
        disk.remove();
      }
    },
  );
});
