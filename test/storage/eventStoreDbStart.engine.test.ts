import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { refusals, refusingServer } from '../support/network.ts';
import { ServiceProcess } from '../support/processes.ts';
import { logScheme, TestServer, testServerCommand } from '../support/servers.ts';

const LONG_MS = 100_000;
const SLOW_START_MS = 60_000;
const NOBODY = '127.0.0.1:1';

describe(`a start with a server (${logScheme})`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-start-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const start = (eventLogUrl: string) =>
    new ServiceProcess({ DATA_DIR: folder, EVENT_LOG_URL: eventLogUrl, LOG_LEVEL: 'warn' });

  const user = 'chartledger:not-to-be-shown';
  test.each([
    ['that refuses the password', refusals.password, 'tls=false', 'refuses the user name or the password'],
    ['whose user may not read $all', refusals.permission, 'tls=false', 'does not let the user'],
    ['of an unknown authority', refusals.password, 'tls=true', 'of an unknown certificate authority'],
  ])(
    '%s ends with one line that says so',
    async (_, refusal, option, said) => {
      const tls = option === 'tls=true';
      const server = await refusingServer(refusal, tls);
      try {
        // Of a list of hosts the driver itself does not tell why none of them answers.
        for (const hosts of tls ? [server.host, `${server.host},${server.host}`] : [server.host]) {
          const { code, stdout, stderr } = await start(`${logScheme}://${user}@${hosts}?${option}`).exit();
          expect({ code, lines: stderr.split('\n').length }).toEqual({ code: 1, lines: 2 });
          expect(stderr).toMatch(/^Chartledger did not start\. /);
          expect(stderr).toContain(said);
          expect(stdout + stderr).not.toContain('not-to-be-shown');
        }
      } finally {
        await server.close();
      }
    },
    LONG_MS,
  );

  test(
    'that is away waits, names its hosts, and ends at once by SIGTERM',
    async () => {
      const service = start(`${logScheme}+discover://${user}@${NOBODY},127.0.0.1:2?tls=false`);
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
