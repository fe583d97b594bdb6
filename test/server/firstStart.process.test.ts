import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { KeyManager } from '../../src/modules/auth/keyManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { version } from '../../src/platform/version.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { ServiceProcess } from '../support/processes.ts';
import { beginUpload, createEncounter, documentsPath, endUpload } from '../support/samples.ts';
import { readAll } from '../support/service.ts';
import { makeUser } from '../support/users.ts';

const KEY = /clk_[0-9A-Za-z]{38}/;
const SETUP_LINK = /^ {2}(https?:\S+\/dashboard\/setup\S+)$/m;
const CURL = /^ {2}(curl .*)$/m;

/** The lines of the log. */
const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('npm start', () => {
  let folder: string;
  let running: ServiceProcess[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'chartledger-start-'));
    running = [];
  });
  afterEach(async () => {
    for (const service of running) await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  function start(env: Record<string, string> = {}): ServiceProcess {
    const service = new ServiceProcess({ DATA_DIR: folder, ...env });
    running.push(service);
    return service;
  }

  /** The events in the log of a service that has ended, as `stream: type` lines. */
  async function logged(): Promise<string[]> {
    const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
    const events = await readAll(eventLog);
    await eventLog.close();
    return events.map(({ stream, type }) => `${stream}: ${type}`);
  }

  test('the first start prints the address, the workspace, its key once, and a curl line that works; later starts no key, and another link until there is a user', async () => {
    const first = start();
    const url = await first.url();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(first.stderr).toContain("workspace 'default'");
    const key = KEY.exec(first.stderr)?.[0];
    expect(first.stderr.match(new RegExp(KEY, 'g'))).toEqual([key, key]);
    const link = SETUP_LINK.exec(first.stderr)?.[1];
    expect(link).toContain(`${url}/dashboard/setup?token=`);
    const line = CURL.exec(first.stderr)?.[1] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', line]);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, version: 1 });
    const client = new Client(url, key);
    expect((await client.get('/integration/payers')).body.items).toHaveLength(1);
    await first.end();
    const read = expect.stringMatching(/^default\.audit-[\d-]+: AccessRecorded$/);
    const begun = [
      'access: WorkspaceCreated',
      'access: ApiKeyCreated',
      'users: SetupLinkIssued',
      'default.payer-payer-1: PayerUpserted',
      read,
    ];
    expect(await logged()).toEqual(begun);

    const second = start({ PUBLIC_URL: 'https://chartledger.example.com' });
    client.url = await second.url();
    expect(second.stderr).not.toMatch(KEY);
    expect(second.stderr).not.toContain('workspace');
    const another = SETUP_LINK.exec(second.stderr)?.[1];
    expect(another).toMatch(/^https:\/\/chartledger\.example\.com\/dashboard\/setup\?token=[\w-]{43}$/);
    expect(another?.slice(-43)).not.toBe(link?.slice(-43));
    expect((await client.get('/integration/payers')).status).toBe(200);
    await second.end();
    expect(await logged()).toEqual([...begun, 'users: SetupLinkIssued', read]);

    const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
    const users = await UserDirectory.open(eventLog);
    await makeUser(users, { name: 'ada@example.com', role: 'viewer', password: 'a long enough one' });
    users.close();
    await eventLog.close();
    const third = start();
    await third.url();
    expect(third.stderr).not.toContain('setup');
    await third.end();
    expect((await logged()).filter((line) => line === 'users: SetupLinkIssued')).toHaveLength(2);
  });

  test('a process that does not answer requests issues no link', async () => {
    const service = start({ ROLES: 'projector' });
    await service.url();
    expect(service.stderr).not.toContain('setup');
    await service.end();
    expect(await logged()).toEqual([]);
  });

  test('in production no key is made, everything is a line of the log, and only the first start has a link in it', async () => {
    const stores = { READ_MODEL_URL: `sqlite:${join(folder, 'models.db')}`, BUILD_ID: 'f00f' };
    const run = async () => {
      const service = start({ NODE_ENV: 'production', ROLES: 'api', ...stores });
      const url = await service.url();
      const { code, stdout, stderr } = await service.end();
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).not.toMatch(KEY);
      const lines = linesOf(stdout);
      expect(lines.filter(({ level }) => level !== 30)).toEqual([]);
      return { url, lines, told: lines.map(({ msg }) => msg) };
    };
    const { url, lines, told } = await run();
    const link = expect.stringMatching(/^the dashboard has no user yet/);
    expect(told).toEqual(['starting', 'ready', link, 'stopping', 'stopped']);
    expect(lines[0]).toMatchObject({
      version,
      build: 'f00f',
      roles: ['api'],
      event_log: `sqlite:${join(folder, 'events.db')}`,
      read_models: stores.READ_MODEL_URL,
      state_store: `sqlite:${join(folder, 'state.db')}`,
      document_store: `file:${join(folder, 'documents')}`,
    });
    expect(lines[1]).toMatchObject({ url });
    expect(lines[2].setupUrl).toMatch(`${url}/dashboard/setup?token=`);
    expect((await run()).told).toEqual(['starting', 'ready', 'stopping', 'stopped']);
    expect(await logged()).toEqual(['users: SetupLinkIssued']);
  });

  test('the log names a store without its user, password and options', async () => {
    const url = 'esdb://admin:s%40fe%2Fword@127.0.0.1:1?tls=false';
    const service = start({ NODE_ENV: 'production', EVENT_LOG_URL: url });
    await eventually(() => expect(service.stdout).toContain('"msg":"starting"'), 60_000);
    const { stdout } = await service.end();
    expect(stdout).toContain('"event_log":"esdb://127.0.0.1:1"');
    for (const secret of ['admin', 's%40fe', 'word']) expect(stdout).not.toContain(secret);
  });

  test.each([
    ['info', []],
    ['debug', ['/healthz', '/readyz']],
  ])(
    'outside production, standard output has only lines of the log too; at the level %s, of probes: %j',
    async (LOG_LEVEL, routes) => {
      const service = start({ LOG_LEVEL });
      const url = await service.url();
      for (const probe of ['/healthz', '/readyz']) expect((await fetch(url + probe)).status).toBe(200);
      expect((await fetch(`${url}/integration/payers`)).status).toBe(401);
      const { stdout } = await service.end();
      const lines = linesOf(stdout);
      const found = lines.filter(({ msg }) => msg === 'request').map(({ route }) => route);
      expect(found).toEqual([...routes, '/integration/payers']);
      if (LOG_LEVEL !== 'info') return;
      const others = lines.map(({ msg }) => msg).filter((msg) => msg !== 'request');
      expect(others).toEqual(['starting', 'ready', 'stopping', 'stopped']);
    },
  );

  test('no key is made when the log holds a workspace already', async () => {
    const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
    const directory = await KeyDirectory.open(eventLog);
    await new KeyManager(directory, { principal: { type: 'operator', id: 'test' } }).createWorkspace(
      'clinic',
    );
    directory.close();
    await eventLog.close();
    const service = start();
    await service.url();
    expect(service.stderr).not.toMatch(KEY);
    await service.end();
    expect(await logged()).toEqual(['access: WorkspaceCreated', 'users: SetupLinkIssued']);
  });

  test('bad settings stop the start with one line that names each', async () => {
    const bad = {
      PORT: 'abc',
      EVENT_LOG_URL: 'foo:',
      RATE_LIMIT_PER_MINUTE: '-1',
      LOG_LEVEL: 'loud',
      TRUST_PROXY: 'nonsense',
    };
    const { code, stdout, stderr } = await start(bad).exit();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const [, problems = ''] = /^Chartledger did not start\. Bad settings: (.+)\n$/.exec(stderr) ?? [];
    const named = problems.split('; ').map((problem) => problem.split(' ')[0]);
    expect(named.toSorted()).toEqual(Object.keys(bad).toSorted());
    expect(existsSync(join(folder, 'events.db'))).toBe(false);
  });

  test('a port in use stops the start, and the key is there to see at the next one', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await start({ PORT: String(port) }).exit();
    other.close();
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(
      `Chartledger did not start. 127.0.0.1:${port} is in use by another process. Set PORT to another port.\n`,
    );
    expect(await logged()).toEqual([]);
    const next = start();
    await next.url();
    expect(next.stderr).toMatch(KEY);
  });

  test('SIGTERM and SIGINT answer what is under way, then end with code 0', async () => {
    let service = start();
    const client = new Client(await service.url(), KEY.exec(service.stderr)?.[0]);
    const encounter = await createEncounter(client);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const id = phi('document');
      const upload = beginUpload(client, encounter, id);
      const config = loadConfig({ DATA_DIR: folder });
      await eventually(() => expect(storedFiles(config).uploads).not.toEqual([]));
      const ended = service.end(signal);
      await eventually(() => expect(client.get('/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' }));
      expect(await endUpload(upload)).toMatchObject({ status: 200, body: { document_id: id } });
      expect((await ended).code).toBe(0);
      service = start();
      client.url = await service.url();
      expect((await client.get(documentsPath(encounter, id))).status).toBe(200);
    }
  });
});
