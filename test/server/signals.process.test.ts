import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess, serviceCommand } from '../support/processes.ts';

let folder: string;
let running: ServiceProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-signals-'));
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(command: string[] = serviceCommand, env: Record<string, string> = {}): ServiceProcess {
  const settings = { DATA_DIR: join(folder, 'data'), NODE_ENV: 'production', HOME: folder, ...env };
  const service = new ServiceProcess(settings, { command });
  running.push(service);
  return service;
}

/** The service, run by a line of shell in which `"$@"` stands for it. */
function startBy(shell: string, line: string): ServiceProcess {
  return start([shell, '-c', line, shell, ...serviceCommand]);
}

const answers = async (url: string) => (await new Client(url, undefined).get('/healthz')).status === 200;

describe('a service', () => {
  test.each(['SIGINT', 'SIGHUP'] as const)('drains and ends with code 0 at %s', async (signal) => {
    const service = start();
    await service.url();
    expect(await service.end(signal)).toMatchObject({ code: 0, stderr: '' });
  });

  test('goes on at SIGUSR1 and SIGUSR2, opens no inspector, and ends with code 0 at SIGTERM', async () => {
    const service = start();
    const url = await service.url();
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
      service.child.kill(signal);
      for (let request = 0; request < 20; request += 1) expect(await answers(url)).toBe(true);
    }
    expect(await service.end()).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['nohup', 'bash', 'nohup "$@"'],
    ['nohup in a terminal, which leaves a standard input that cannot be read', 'sh', 'exec "$@" 0>/dev/null'],
  ])('that was started by %s goes on at SIGHUP', async (_label, shell, line) => {
    const service = startBy(shell, line);
    const url = await service.url();
    service.child.kill('SIGHUP');
    for (let request = 0; request < 20; request += 1) expect(await answers(url)).toBe(true);
    expect((await service.end()).code).toBe(0);
  });

  test('whose parent ignores SIGHUP goes on at it', async () => {
    const service = startBy('sh', `trap '' HUP; "$@" & echo "$!"; wait`);
    const url = await service.url();
    const pid = Number.parseInt(service.stdout, 10);
    process.kill(pid, 'SIGHUP');
    for (let request = 0; request < 20; request += 1) expect(await answers(url)).toBe(true);
    process.kill(pid, 'SIGTERM');
    expect((await service.exit()).code).toBe(0);
  });
});

test('SIGTERM to `npm start` ends the service, too', async () => {
  const service = start(['npm', 'start']);
  const url = await service.url();
  await service.end();
  await eventually(() => expect(answers(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' }));
});
