import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { roomFor } from '../../src/cli/commands/doctorChecks.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { tlsFixture, tlsSettings } from '../support/messages.ts';
import { samples } from '../support/samples.ts';
import { freePort, onEmbeddedEngines, onEveryEngine } from '../support/servers.ts';
import { changesBy, logLines, newEvents, openLogFile, type TestService } from '../support/service.ts';

interface Result {
  check: string;
  status: string;
  code?: string;
  message: string;
}

/** The settings of a service, with the port that it was given. */
const envOf = ({ config, url }: TestService) => ({
  ...storesOf(config),
  DATA_DIR: config.dataDir,
  PORT: new URL(url).port,
});

/** What it says of a service, with other settings for itself. */
async function doctor(service: TestService, env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runCli(['doctor', '--json'], {
    env: { ...envOf(service), ...env },
  });
  expect(stderr).toBe('');
  const results: Result[] = JSON.parse(stdout);
  return { code, results, of: (check: string) => results.filter((result) => result.check === check) };
}

const behind = expect.objectContaining({ code: 'behind' });

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('of a service that is well each check is ok, in a line, and nothing is changed', async () => {
    expect((await service.post('/integration/payers', samples.payer())).status).toBe(200);
    await eventually(async () => expect((await doctor(service)).results).not.toContainEqual(behind));
    const events = await newEvents(service, async () => {
      const { code, results } = await doctor(service);
      expect(code).toBe(results.some(({ status }) => status === 'warn') ? 1 : 0);
      expect(
        results.filter(
          ({ check, status }) => status !== 'ok' && !['disk', 'permissions', 'backups'].includes(check),
        ),
      ).toEqual([]);
      // Files of a service within the tests' process are as open as their user makes them.
      expect([...new Set(results.map(({ check }) => check))]).toEqual([
        ...['settings', 'service', 'event_log', 'read_models', 'document_store', 'keys', 'webhooks'],
        ...['deliveries', 'clock'],
        'state_store',
        'contents',
        ...(service.config.eventLogUrl.startsWith('sqlite:') ? ['backups'] : []),
        ...['permissions', 'disk'],
      ]);
      const { stdout } = await runCli(['doctor'], {
        env: envOf(service),
      });
      expect(stdout).toMatch(/^(?:(?:ok {2}|warn) {2}[a-z_]+: .+\n){10,}$/);
    });
    expect(events).toEqual([]);
  });
});

onEmbeddedEngines((start) => {
  test('a damaged file and a damaged event are found, and the log names the place of the event', async () => {
    const service = await start();
    const payer = samples.payer();
    expect((await service.post('/integration/payers', payer)).status).toBe(200);
    const [sound] = (await doctor(service)).of('contents');
    expect(sound).toMatchObject({ status: 'ok' });
    expect(sound?.message).toMatch(
      /events\.db, .* is sound; contents not checked: run chartledger verify --workspace ID --records$/,
    );
    const db = openLogFile(service);
    db.prepare("UPDATE events SET data = '{' WHERE type = 'PayerUpserted'").run();
    const position = db.prepare("SELECT position FROM events WHERE type = 'PayerUpserted'").get()?.position;
    db.close();
    expect((await service.get(`/integration/payers/${payer.id}/history`)).status).toBe(500);
    const partition = `${service.workspaceId('clinic')}.payer`;
    const logged = logLines(`"partition":"${partition}"`);
    expect(logged).toContainEqual(expect.objectContaining({ code: 'internal', partition, position }));
    expect(JSON.stringify(logged)).not.toContain(payer.id);
    const path = join(temporaryFolder(), 'events.db');
    const copied = openLogFile(service);
    copied.exec(`VACUUM INTO '${path}'`);
    copied.close();
    const file = openSync(path, 'r+');
    // Pages of the file, the first ones excepted: they describe its tables.
    for (let page = 10; page * 4096 < statSync(path).size; page += 1)
      writeSync(file, Buffer.alloc(4096, 0xee), 0, 4096, page * 4096);
    closeSync(file);
    const damaged = await doctor(service, { EVENT_LOG_URL: `sqlite:${path}` });
    expect(damaged.code).toBe(2);
    expect(damaged.of('contents')).toMatchObject([
      { status: 'fail', code: 'file_damaged', message: expect.stringContaining(`${path} is damaged`) },
    ]);
    await service.stop();
  });

  test('the age of the last backup is told', async () => {
    const service = await start();
    expect((await doctor(service)).of('backups')).toMatchObject([{ status: 'warn', code: 'no_backup' }]);
    const folder = temporaryFolder();
    const passphrase = join(folder, 'passphrase');
    writeFileSync(passphrase, 'correct horse battery staple', { mode: 0o600 });
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const place = join(folder, 'backup');
    const events = await newEvents(service, async () => {
      const taken = await runCli(['backup', place, '--passphrase-file', passphrase], { env });
      expect(taken).toMatchObject({ code: 0, stderr: '' });
    });
    expect(events.filter(({ type }) => type.includes('Upserted'))).toEqual([]);
    expect((await doctor(service)).of('backups')).toMatchObject([
      { status: 'ok', message: expect.stringMatching(/^The last one was taken at 20\S+Z, 0 days ago$/) },
    ]);
    await service.stop();
  });

  test('bad and misspelt settings are told, the bad ones alone', async () => {
    const service = await start();
    const bad = await doctor(service, { PORT: 'high' });
    expect(bad).toMatchObject({
      code: 2,
      results: [
        {
          check: 'settings',
          status: 'fail',
          code: 'bad_setting',
          message: 'Bad settings: PORT must be a number',
        },
      ],
    });
    const misspelt = await doctor(service, { DATA_DIRR: 'x' });
    expect(misspelt.code).toBe(1);
    expect(misspelt.of('settings')).toMatchObject([
      { status: 'warn', message: 'DATA_DIRR is not a setting; did you mean DATA_DIR?' },
    ]);
    await service.stop();
  });

  test('the signing key is named as everything that it signs names it', async () => {
    const service = await start();
    expect((await service.post('/integration/payers', samples.payer())).status).toBe(200);
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const head = join(service.config.dataDir, 'head.json');
    const events = await changesBy(service, async () => {
      const workspace = service.workspaceId('clinic');
      // The read model has no tree at once.
      await eventually(async () => {
        const saved = await runCli(['verify', '--workspace', workspace, '--save-head', head], { env });
        expect(saved).toMatchObject({ code: 0, stderr: '' });
      });
      const { key_id } = JSON.parse(readFileSync(head, 'utf8'));
      const [keys] = (await doctor(service)).of('keys');
      expect(keys?.message).toContain(`SIGNING_KEY ${key_id} since 20`);
    });
    expect(events).toEqual([]);
    await service.stop();
  });

  test('lost, damaged and open keys are found, and left as they are', async () => {
    const service = await start();
    const { dataDir } = service.config;
    const made = await service.createKey('clinic', ['events:deidentified']);
    await service.as(made.key).get('/events?view=deidentified');
    const path = join(dataDir, 'deidentification-key');
    const key = readFileSync(path);
    chmodSync(path, 0o644);
    const open = await doctor(service);
    expect(open.code).toBe(2);
    expect(open.of('permissions')).toContainEqual(
      expect.objectContaining({
        status: 'fail',
        code: 'key_open',
        message: expect.stringContaining(`chmod 600 ${path}`),
      }),
    );
    expect(statSync(path).mode & 0o777).toBe(0o644);
    chmodSync(path, 0o600);
    renameSync(path, `${path}.away`);
    const lost = await doctor(service);
    expect(lost.of('keys')).toMatchObject([
      {
        status: 'fail',
        code: 'other_key',
        message: expect.stringMatching(/^DEIDENTIFICATION_KEY: there is no key in .* backup/),
      },
    ]);
    expect(readdirSync(dataDir)).not.toContain('deidentification-key');
    writeFileSync(path, 'short', { mode: 0o600 });
    expect((await doctor(service)).of('keys')).toMatchObject([
      { status: 'fail', message: expect.stringContaining('has 5 bytes instead of at least 32') },
    ]);
    writeFileSync(
      path,
      key.map((byte) => byte ^ 1),
      { mode: 0o600 },
    );
    expect((await doctor(service)).of('keys')).toMatchObject([
      { status: 'fail', message: expect.stringContaining('is not the one that the event log knows') },
    ]);
    await service.stop();
  });

  test('without a running service it finds what is missing and what lags, and makes nothing', async () => {
    const service = await start();
    await service.post('/integration/payers', samples.payer());
    await service.restart(async () => {
      const readModels = join(service.config.dataDir, 'read-models.db');
      expect((await doctor(service)).of('service')).toMatchObject([{ status: 'fail', code: 'no_answer' }]);
      for (const end of ['', '-wal', '-shm'].filter((one) =>
        readdirSync(service.config.dataDir).includes(`read-models.db${one}`),
      ))
        renameSync(readModels + end, `${readModels}${end}.away`);
      const gone = await doctor(service);
      expect(gone.of('read_models')).toMatchObject([{ status: 'warn', code: 'not_found' }]);
      expect(readdirSync(service.config.dataDir)).not.toContain('read-models.db');
      chmodSync(service.config.dataDir, 0o755);
      expect((await doctor(service)).of('permissions')).toContainEqual(
        expect.objectContaining({
          status: 'warn',
          code: 'file_open',
          message: expect.stringContaining('chmod 700'),
        }),
      );
    });
    await service.stop();
  });

  test('little room on a disk is told before it is too late', () => {
    const MIB = 1024 * 1024;
    expect([2_000, 500, 50].map((free) => roomFor('/data', free * MIB).status)).toEqual([
      'ok',
      'warn',
      'fail',
    ]);
    expect(roomFor('/data', 500 * MIB).message).toMatch(/^500 MiB are free for \/data\. Make room/);
  });

  test('what is seen from outside: a role that cannot do its work, warnings, and the addresses', async () => {
    const metricsPort = String(await freePort());
    const service = await start({ METRICS_PORT: metricsPort, ROLES: 'api,projector' });
    const addresses = { METRICS_PORT: metricsPort, PUBLIC_URL: service.url, ROLES: 'api,projector' };
    const well = await doctor(service, addresses);
    for (const check of ['service', 'metrics', 'public_url'])
      expect(well.of(check)).toMatchObject([{ status: 'ok' }]);
    const others = await doctor(service, { ROLES: 'api,webhooks' });
    expect(others.of('service')).toMatchObject([
      { status: 'warn', code: 'other_roles', message: expect.stringContaining('without webhooks') },
    ]);
    await service.stop();
    const gone = await doctor(service, { ...addresses, NODE_ENV: 'production' });
    expect(gone.code).toBe(2);
    expect(gone.of('service')).toMatchObject([{ status: 'fail', code: 'no_answer' }]);
    expect(gone.of('metrics')).toMatchObject([{ status: 'warn', code: 'no_answer' }]);
    expect(gone.of('public_url')).toMatchObject([{ status: 'warn', code: 'no_answer' }]);
    const unwatched = await doctor(service, { NODE_ENV: 'production' });
    expect(unwatched.of('metrics')).toMatchObject([{ status: 'warn', code: 'no_metrics' }]);
  });

  test('certificates and ports of the role mllp, and a public address with TLS', async () => {
    const service = await start();
    const port = String(await freePort());
    const settings = { ROLES: 'mllp', MLLP_PORT: port, ...tlsSettings() };
    const found = await doctor(service, settings);
    expect(found.of('mllp_ports')).toMatchObject([
      { status: 'fail', message: expect.stringContaining(`port ${port} `) },
    ]);
    expect(found.of('certificates')).toMatchObject([
      { status: 'ok', message: expect.stringMatching(/server\.crt is valid until \d{4}-\d\d-\d\d/) },
      { status: 'ok', message: expect.stringContaining('ca.crt') },
    ]);
    const proxy = createServer(tlsFixture('server')).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port: tlsPort } = proxy.address() as AddressInfo;
    const publicUrl = await doctor(service, { PUBLIC_URL: `https://localhost:${tlsPort}` });
    // Its certificate is valid for long; nobody vouches for it, so no client accepts it.
    expect(publicUrl.of('public_url')).toMatchObject([{ status: 'warn', code: 'no_answer' }]);
    proxy.close();
    await service.stop();
  });

  test('heads that were not sent are a warning', async () => {
    const place = temporaryFolder();
    const service = await start();
    expect((await doctor(service, { HEADS_TO: place })).of('heads')).toMatchObject([
      { status: 'warn', code: 'not_sent' },
    ]);
    await service.stop();
  });
});
