import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess, serviceCommand } from '../support/processes.ts';
import { openConnection, startTestService } from '../support/service.ts';

/** Much less than any connection is kept for. */
const END_WITHIN_MS = 30_000;

let folder: string;
let running: ServiceProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-draining-'));
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(env: Record<string, string> = {}, command = serviceCommand): ServiceProcess {
  const service = new ServiceProcess({ DATA_DIR: join(folder, 'data'), ...env }, { command });
  running.push(service);
  return service;
}

/** A request whose body is still to come. */
async function begin(url: string, agent: Agent, key: string): Promise<ClientRequest> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', expect: '100-continue' };
  const begun = request(`${url}/integration/payers`, { method: 'POST', agent, headers });
  begun.flushHeaders();
  await once(begun, 'continue');
  return begun;
}

async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  await text(answer);
  return answer;
}

const refused = (url: string) => eventually(() => expect(fetch(url)).rejects.toThrow('fetch failed'));

describe('connections', () => {
  test('are kept for 75 seconds, or as long as KEEP_ALIVE_SECONDS says', async () => {
    for (const [env, header] of [
      [{}, 'timeout=75'],
      [{ KEEP_ALIVE_SECONDS: '20' }, 'timeout=20'],
    ] as const) {
      const service = await startTestService(env);
      const agent = new Agent({ keepAlive: true });
      const { headers } = await answerOf(request(`${service.url}/healthz`, { agent }).end());
      expect(headers).toMatchObject({ connection: 'keep-alive', 'keep-alive': header });
      agent.destroy();
      await service.stop();
    }
  });

  test('are closed by the answers of a service that ends, so that it need not wait for them', async () => {
    const service = start({ DRAIN_SECONDS: '3600' });
    const url = await service.url();
    const key = /clk_\w{38}/.exec(service.stderr)?.[0] ?? '';
    const agent = new Agent({ keepAlive: true });
    const begun = await begin(url, agent, key);
    service.child.kill('SIGTERM');
    await refused(url);
    begun.end(JSON.stringify({ id: 'payer-1', name: 'Aetna' }));
    expect(await answerOf(begun)).toMatchObject({ statusCode: 200, headers: { connection: 'close' } });
    expect((await service.exit()).code).toBe(0);
  });

  test(
    'on which nothing came, as browsers open some for later, are closed by a service that ends',
    async () => {
      const hour = 3_600_000;
      const httpTimes = { headers: hour, request: hour, stalled: hour };
      const service = await startTestService({ DRAIN_SECONDS: '3600' }, { httpTimes });
      const { socket, closed } = openConnection(service.url);
      await once(socket, 'connect');
      await service.get('/healthz');
      await service.stop();
      expect(await closed()).toBe('');
    },
    END_WITHIN_MS,
  );

  test('are ended with what is under way when DRAIN_SECONDS are over', async () => {
    const service = start({ DRAIN_SECONDS: '1' });
    const url = await service.url();
    const key = /clk_\w{38}/.exec(service.stderr)?.[0] ?? '';
    const begun = await begin(url, new Agent({ keepAlive: true }), key);
    const failed = once(begun, 'response').catch((error) => error);
    expect((await service.end()).code).toBe(0);
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
  });

  test('beyond what the open files allow are refused, which is one line with the limit', async () => {
    const command = ['sh', '-c', 'ulimit -n 160; exec "$@"', 'sh', ...serviceCommand];
    const service = start({ LOG_LEVEL: 'warn' }, command);
    const url = await service.url();
    const port = Number(new URL(url).port);
    const sockets: Socket[] = [];
    const closed = new Promise<void>((resolve) => {
      let count = 0;
      for (let index = 0; index < 60; index += 1) {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined);
        socket.on('close', () => {
          count += 1;
          if (count === 20) resolve();
        });
        sockets.push(socket);
      }
    });
    await closed;
    for (const socket of sockets) socket.destroy();
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    const { stdout } = await service.end();
    const lines = stdout.split('\n').filter((line) => line.includes('connections were refused'));
    expect(lines.map((line) => JSON.parse(line))[0]).toMatchObject({
      level: 50,
      fileDescriptors: 160,
      connections: 32,
      refused: 1,
    });
    expect(lines.length).toBeLessThanOrEqual(2);
  });
});

test('SIGTERM ends a start that waits for its event log', async () => {
  const connections: Socket[] = [];
  const silent = createServer((socket) => connections.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const service = start({ EVENT_LOG_URL: `esdb://127.0.0.1:${port}?tls=false` });
  await once(silent, 'connection');
  expect(await service.end()).toMatchObject({ code: 0, stdout: '', stderr: '' });
  for (const socket of connections) socket.destroy();
  silent.close();
});

test(
  'background work that does not end is cut off some seconds after the requests',
  async () => {
    // A database that accepts a user, and then answers nothing.
    const asked = Promise.withResolvers<void>();
    const database = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1'));
        socket.once('data', () => asked.resolve());
      });
    });
    await once(database.listen(0, '127.0.0.1'), 'listening');
    const { port } = database.address() as AddressInfo;
    const service = start({
      WAREHOUSES: `default=postgres://analyst@127.0.0.1:${port}/warehouse`,
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'info',
    });
    await service.url();
    await asked.promise;
    const { code, stdout } = await service.end();
    expect(code).toBe(0);
    expect(stdout).toContain('stopped before all background work had ended');
    database.close();
  },
  END_WITHIN_MS,
);
