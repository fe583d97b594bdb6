import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { refusals, refusingServer } from '../support/network.ts';
import { ServiceProcess } from '../support/processes.ts';
import { TestServer, testServerCommand } from '../support/servers.ts';

const LONG_MS = 100_000;
const SLOW_START_MS = 60_000;
const NOBODY = '127.0.0.1:1';

describe('a start with a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-start-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const start = (eventLogUrl: string) =>
    new ServiceProcess({ DATA_DIR: folder, EVENT_LOG_URL: eventLogUrl, LOG_LEVEL: 'warn' });

  const user = 'chartledger:not-to-be-shown';
  test('that refuses the password ends the process with one line', async () => {
    const server = await refusingServer(refusals.password, false);
    const { code, stdout, stderr } = await start(`esdb://${user}@${server.host}?tls=false`).exit();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Chartledger did not start\. [^\n]+ refuses the user name or the password[^\n]+\n$/,
    );
    expect(stdout + stderr).not.toContain('not-to-be-shown');
    await server.close();
  });

  test(
    'that is away waits, names its hosts, and ends at once by SIGTERM',
    async () => {
      const service = start(`esdb+discover://${user}@${NOBODY},127.0.0.1:2?tls=false`);
      const named = eventually(
        () => expect(service.stdout).toContain(`${NOBODY}, 127.0.0.1:2`),
        SLOW_START_MS,
      );
      await named.catch(() => undefined);
      const { code, stdout, stderr } = await service.end();
      await named;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).not.toContain('not-to-be-shown');
    },
    LONG_MS,
  );

  const command = testServerCommand();
  (command ? test : test.skip)(
    'that comes up later begins when it is there',
    async () => {
      const server = new TestServer(command ?? []);
      await server.start();
      await server.kill();
      const service = start(server.url);
      try {
        await eventually(
          () => expect(service.stdout).toContain('startup is waiting for the event log'),
          LONG_MS,
        );
        await server.start();
        expect(await (await fetch(`${await service.url()}/healthz`)).json()).toEqual({ status: 'ok' });
      } finally {
        await service.end();
        await server.remove();
      }
    },
    LONG_MS,
  );
});
