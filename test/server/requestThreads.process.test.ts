import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';

const CONNECTIONS = 24;

let folder: string;
let running: ServiceProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-threads-'));
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(env: Record<string, string> = {}): ServiceProcess {
  const settings = { DATA_DIR: join(folder, 'data'), REQUEST_THREADS: '3', LOG_LEVEL: 'info' };
  const service = new ServiceProcess({ ...settings, ...env });
  running.push(service);
  return service;
}

/** How many sockets listen on a port of IPv4 (proc_pid_net(5)). */
function listeners(url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const isListening = (line: string) => new RegExp(`^ *\\d+: 0100007F:${port} 00000000:0000 0A `).test(line);
  return readFileSync('/proc/net/tcp', 'utf8').split('\n').filter(isListening).length;
}

const keyOf = ({ stderr }: ServiceProcess) => /clk_\w{38}/.exec(stderr)?.[0] ?? '';

test('each thread listens, no other service shares their port, and SIGTERM lets all of them answer what they accepted', async () => {
  const service = start();
  const url = await service.url();
  expect(listeners(url)).toBe(3);
  const { port } = new URL(url);
  for (const threads of ['1', '3']) {
    const env = {
      DATA_DIR: join(folder, `other-${threads}`),
      PORT: port,
      REQUEST_THREADS: threads,
      LOG_LEVEL: 'silent',
    };
    const { code, stdout, stderr } = await start(env).exit();
    const reason = `127.0.0.1:${port} is in use by another process. Set PORT to another port.`;
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `Chartledger did not start. ${reason}\n`,
    });
  }
  const headers = { 'x-api-key': keyOf(service), 'content-type': 'application/json', expect: '100-continue' };
  const begun = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const agent = new Agent({ keepAlive: true });
      const sent = request(`${url}/integration/payers`, { method: 'POST', agent, headers });
      sent.flushHeaders();
      await once(sent, 'continue');
      return sent;
    }),
  );
  service.child.kill('SIGTERM');
  await eventually(() => expect(fetch(url)).rejects.toThrow('fetch failed'));
  const answers = await Promise.all(
    begun.map(async (sent, index) => {
      sent.end(JSON.stringify({ id: `payer-${index}`, name: 'Aetna' }));
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: answer.statusCode, connection: answer.headers.connection, body: await json(answer) };
    }),
  );
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 200, connection: 'close', body: { outcome: 'created' } });
  const { code, stdout } = await service.exit();
  expect(code).toBe(0);
  expect(stdout.split('\n').filter((line) => line.includes('"/integration/payers"'))).toHaveLength(
    CONNECTIONS,
  );
});

test('one thread listens where that is asked for', async () => {
  expect(listeners(await start({ REQUEST_THREADS: '1' }).url())).toBe(1);
});

test('a thread that fails is told, and started again, while the others go on', async () => {
  const trigger = join(folder, 'fail');
  const failing = join(folder, 'failing.mjs');
  writeFileSync(
    failing,
    `import { existsSync, rmSync } from 'node:fs';
     import { workerData } from 'node:worker_threads';
     const look = () => {
       if (!existsSync(${JSON.stringify(trigger)})) return;
       rmSync(${JSON.stringify(trigger)});
       throw new Error('failed on purpose');
     };
     if (workerData?.thread === 2) setInterval(look, 20).unref();`,
  );
  const service = start({ NODE_OPTIONS: `--import=${failing}`, RATE_LIMIT_PER_MINUTE: '0' });
  const url = await service.url();
  writeFileSync(trigger, '');
  await eventually(() => expect(listeners(url)).toBe(2));
  const answer = await fetch(`${url}/integration/payers/none`, {
    headers: { 'x-api-key': keyOf(service), connection: 'close' },
  });
  expect(answer.status).toBe(404);
  await eventually(() => expect(listeners(url)).toBe(3));
  expect(existsSync(trigger)).toBe(false);
  const { code, stdout } = await service.end();
  expect(code).toBe(0);
  const told = stdout.split('\n').filter((line) => line.includes('a request thread failed'));
  expect(told.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, thread: 2 }]);
});
