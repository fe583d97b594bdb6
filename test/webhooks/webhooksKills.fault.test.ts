import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { node, ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { withOwnServers } from '../support/servers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import {
  createWebhook,
  delivered,
  expectedMessages,
  HookEndpoint,
  openLoopback,
} from '../support/webhooks.ts';

const RECORDS = 400;
const VERSIONS = 4;
/** Messages accepted when the service is killed, and those when the endpoint is, for a moment. */
const KILLS = [200, 650, 1_100];
const AWAY = [100, 400, 950, 1_400];
const LONG_MS = 240_000;

/** A service in a process of its own, on the stores of another one. */
async function startProcess(service: TestService, env: Record<string, string>): Promise<ServiceProcess> {
  const child = new ServiceProcess(
    {
      ...storesOf(service.config),
      ...openLoopback,
      DATA_DIR: service.config.dataDir,
      RATE_LIMIT_PER_MINUTE: '0',
      NODE_ENV: 'production',
      ...env,
    },
    { command: [node, 'test/support/processes/fastRetryService.ts'] },
  );
  await child.url();
  return child;
}

/** Every event of the workspace was accepted, those of each record in order. */
async function expectAll(service: TestService, endpoint: HookEndpoint, id: string): Promise<void> {
  const { ids, versions } = await expectedMessages(service, id);
  await eventually(
    () => expect(new Set(endpoint.accepted.map((message) => message.id)).size).toBe(ids.size),
    LONG_MS,
  );
  expect(new Set(endpoint.accepted.map((message) => message.id))).toEqual(ids);
  const accepted = [...endpoint.versions().values()];
  expect(accepted.filter((seen) => seen.some((version, index) => version !== index + 1))).toEqual([]);
  expect(accepted).toHaveLength(versions.size);
}

test(
  'an endpoint that is slow, away and fails one time in three gets a whole import, while the service is killed',
  async () => {
    const service = await startTestService({ ROLES: 'api', ...openLoopback });
    const { key } = await service.createKey('clinic', ['write', 'read', 'webhooks']);
    const endpoint = await HookEndpoint.open();
    let count = 0;
    endpoint.answer = () => {
      count += 1;
      if (count % 100 === 0) return 'tear';
      if (count % 50 === 1) return 'slow';
      return count % 3 === 0 ? 500 : 200;
    };
    const { id } = await createWebhook(service.as(key), { url: endpoint.url, start: 'beginning' });
    let child = await startProcess(service, {});
    const PORT = new URL(await child.url()).port;

    const folder = temporaryFolder();
    const path = join(folder, 'records.ndjson');
    const payers = Array.from({ length: RECORDS }, samples.payer);
    const lines = Array.from({ length: VERSIONS }, (_, version) =>
      payers.map((record) =>
        JSON.stringify({ kind: 'payer', record: { ...record, website: `v${version}` } }),
      ),
    ).flat();
    writeFileSync(path, lines.join('\n'));
    const args = ['import', path, '--format', 'ndjson', '--url', `http://127.0.0.1:${PORT}`, '--json'];
    const importing = spawnCli(args, { cwd: folder, env: { CHARTLEDGER_API_KEY: key } });

    const kill = async (at: number) => {
      await eventually(() => expect(endpoint.accepted.length).toBeGreaterThan(at), LONG_MS);
      await child.end('SIGKILL');
      child = await startProcess(service, { PORT });
    };
    const leave = async (at: number) => {
      await eventually(() => expect(endpoint.accepted.length).toBeGreaterThan(at), LONG_MS);
      await endpoint.down();
      const { length } = endpoint.received;
      await endpoint.up();
      await eventually(() => expect(endpoint.received.length).toBeGreaterThan(length), LONG_MS);
    };
    const inTurn = async (places: number[], work: (at: number) => Promise<void>) => {
      for (const place of places) await work(place);
    };
    await Promise.all([inTurn(KILLS, kill), inTurn(AWAY, leave)]);
    const { code, stdout } = await importing;
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, accepted: lines.length, rejected: 0 });
    await expectAll(service, endpoint, id);
    await delivered(service.as(key), id, LONG_MS);
    await child.end('SIGKILL');
    await endpoint.down();
    await service.stop();
  },
  LONG_MS,
);

withOwnServers('an instance that delivers webhooks and is killed', (servers) => {
  let service: TestService;
  const running: ServiceProcess[] = [];
  const endpoints: HookEndpoint[] = [];
  beforeAll(async () => {
    service = await startTestService({ ...(await servers.start()), ROLES: 'api', ...openLoopback });
  }, LONG_MS);
  afterAll(async () => {
    for (const child of running) await child.end('SIGKILL');
    for (const endpoint of endpoints) await endpoint.down();
    await service.stop();
    await servers.remove();
  });

  test(
    'its webhooks are taken over by another one, and nothing is skipped',
    async () => {
      const { key } = await service.createKey('clinic', ['write', 'read', 'webhooks']);
      const hooks: { id: string; endpoint: HookEndpoint }[] = [];
      for (let n = 0; n < 4; n += 1) {
        const endpoint = await HookEndpoint.open();
        endpoints.push(endpoint);
        const { id } = await createWebhook(service.as(key), { url: endpoint.url, start: 'beginning' });
        hooks.push({ id, endpoint });
      }
      const start = () => startProcess(service, { ROLES: 'webhooks' });
      running.push(...(await Promise.all([start(), start()])));
      const payers = Array.from({ length: 50 }, samples.payer);
      const write = async () => {
        for (const payer of payers) {
          expect((await service.post('/integration/payers', payer)).status).toBe(200);
        }
      };
      await write();
      await eventually(() => {
        for (const { endpoint } of hooks) expect(endpoint.accepted.length).toBeGreaterThan(10);
      }, LONG_MS);
      const writing = write();
      await running[0]?.end('SIGKILL');
      await writing;
      for (const { id, endpoint } of hooks) await expectAll(service, endpoint, id);
      running.push(await start());
      await running[1]?.end('SIGKILL');
      await write();
      for (const { id, endpoint } of hooks) await expectAll(service, endpoint, id);
    },
    LONG_MS,
  );
});
