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

  test('the first start prints the address, the workspace, its key once, and a curl line that works', async () => {
    const service = start();
    const url = await service.url();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(service.stdout).toContain("workspace 'default'");
    const key = KEY.exec(service.stdout)?.[0];
    expect(service.stdout.match(new RegExp(KEY, 'g'))).toEqual([key, key]);
    const line = CURL.exec(service.stdout)?.[1] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', line]);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, version: 1 });
    const client = new Client(url, key);
    expect((await client.get('/integration/payers')).body.items).toHaveLength(1);
    await service.end();
    expect(await logged()).toEqual([
      'access: WorkspaceCreated',
      'access: ApiKeyCreated',
      'users: SetupLinkIssued',
      'default.payer-payer-1: PayerUpserted',
      expect.stringMatching(/^default\.audit-[\d-]+: AccessRecorded$/),
    ]);
  });

  test('a second start prints no key and makes none; the first key goes on working', async () => {
    const first = start();
    await first.url();
    const key = KEY.exec(first.stdout)?.[0];
    await first.end();
    const second = start();
    const client = new Client(await second.url(), key);
    expect(second.stdout).not.toMatch(KEY);
    expect(second.stdout).not.toContain('workspace');
    expect((await client.get('/integration/payers')).status).toBe(200);
    await second.end();
    expect(await logged()).toEqual([
      'access: WorkspaceCreated',
      'access: ApiKeyCreated',
      'users: SetupLinkIssued',
      'users: SetupLinkIssued',
      expect.stringMatching(/^default\.audit-[\d-]+: AccessRecorded$/),
    ]);
  });

  test('every start prints another link that makes the first administrator, until there is a user', async () => {
    const first = start();
    const url = await first.url();
    const link = SETUP_LINK.exec(first.stdout)?.[1];
    expect(link).toContain(`${url}/dashboard/setup?token=`);
    await first.end();
    const second = start({ NODE_ENV: 'production', PUBLIC_URL: 'https://chartledger.example.com' });
    await second.url();
    const another = SETUP_LINK.exec(second.stdout)?.[1];
    expect(another).toMatch(/^https:\/\/chartledger\.example\.com\/dashboard\/setup\?token=[\w-]{43}$/);
    expect(another?.slice(-43)).not.toBe(link?.slice(-43));
    await second.end();
    const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
    const users = await UserDirectory.open(eventLog);
    await makeUser(users, { name: 'ada@example.com', role: 'viewer', password: 'a long enough one' });
    users.close();
    await eventLog.close();
    const third = start();
    await third.url();
    expect(third.stdout).not.toContain('setup');
    await third.end();
    expect((await logged()).filter((line) => line === 'users: SetupLinkIssued')).toHaveLength(2);
  });

  test('a process that does not answer requests issues no link', async () => {
    const service = start({ ROLES: 'projector' });
    await service.url();
    expect(service.stdout).not.toContain('setup');
    await service.end();
    expect(await logged()).toEqual([]);
  });

  test('with NODE_ENV=production no key is made', async () => {
    const service = start({ NODE_ENV: 'production' });
    await service.url();
    expect(service.stdout).not.toMatch(KEY);
    await service.end();
    expect(await logged()).toEqual(['users: SetupLinkIssued']);
  });

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
    expect(service.stdout).not.toMatch(KEY);
    await service.end();
    expect(await logged()).toEqual(['access: WorkspaceCreated', 'users: SetupLinkIssued']);
  });

  test.each([
    ['PORT', 'abc'],
    ['EVENT_LOG_URL', 'foo:'],
    ['RATE_LIMIT_PER_MINUTE', '-1'],
    ['LOG_LEVEL', 'loud'],
    ['TRUST_PROXY', 'nonsense'],
  ])('%s=%s stops the start with one line that names it', async (name, value) => {
    const { code, stdout, stderr } = await start({ [name]: value }).exit();
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(new RegExp(`^Chartledger did not start\\. Bad settings: ${name} .+\\n$`));
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
    expect(next.stdout).toMatch(KEY);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s answers what is under way, then ends with code 0',
    async (signal) => {
      const service = start();
      const url = await service.url();
      const client = new Client(url, KEY.exec(service.stdout)?.[0]);
      const encounter = await createEncounter(client);
      const id = phi('document');
      const upload = beginUpload(client, encounter, id);
      const config = loadConfig({ DATA_DIR: folder });
      await eventually(() => expect(storedFiles(config).uploads).not.toEqual([]));
      const ended = service.end(signal);
      await eventually(() => expect(client.get('/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' }));
      expect(await endUpload(upload)).toMatchObject({ status: 200, body: { document_id: id } });
      const { code, stderr } = await ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const again = start();
      client.url = await again.url();
      expect((await client.get(documentsPath(encounter, id))).status).toBe(200);
    },
  );
});
