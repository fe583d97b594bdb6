import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { ServiceProcess } from '../support/processes.ts';

/** More than what Node lets wait unless it is told otherwise. */
const CONNECTIONS = 1_500;
const SOMAXCONN = '/proc/sys/net/core/somaxconn';

const systemTakes = existsSync(SOMAXCONN) ? Number(readFileSync(SOMAXCONN, 'utf8')) : 0;

test.skipIf(systemTakes <= CONNECTIONS)(
  'a burst of connections waits for a service that is busy, and is not sent away',
  async () => {
    const service = new ServiceProcess({ DATA_DIR: temporaryFolder() });
    const { port } = new URL(await service.url());
    service.child.kill('SIGSTOP');
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(Number(port), '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    service.child.kill('SIGCONT');
    const last = sockets.at(-1);
    last?.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const [answer] = last ? await once(last, 'data') : [];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of sockets) socket.destroy();
    await service.end('SIGKILL');
  },
  60_000,
);
