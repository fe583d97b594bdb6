import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { startService } from '../../src/server/service.ts';
import { startFailure } from '../../src/server/startFailure.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { webhooksPath } from '../support/webhooks.ts';

const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0 ? test : test.skip;

let folder: string;
let running: ServiceProcess[];
beforeEach(() => {
  const parent = temporaryFolder();
  chmodSync(parent, 0o755);
  folder = join(parent, 'data');
  mkdirSync(folder, { mode: 0o700 });
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.end('SIGKILL');
});

function start(env: Record<string, string> = {}, uid?: number): ServiceProcess {
  const settings = { DATA_DIR: folder, LOG_LEVEL: 'warn', ...env };
  const service = new ServiceProcess(settings, uid === undefined ? {} : { uid });
  running.push(service);
  return service;
}

describe('a key that cannot be used stops the start, in one line with the name of its file or setting', () => {
  test.each([
    ['deidentification-key', 'has 0 bytes instead of at least 32'],
    ['webhook-secrets-key', 'has 0 bytes instead of 32'],
    ['session-secret', 'has 0 bytes instead of at least 32'],
    ['signing-key', 'is not an Ed25519 private key (PKCS#8, DER)'],
  ])('%s', async (name, problem) => {
    writeFileSync(join(folder, name), '');
    const starting = startService(loadConfig({ DATA_DIR: folder, PORT: '0' }), pino({ level: 'silent' }));
    expect(startFailure(await starting.catch((error) => error), undefined)).toBe(
      `${join(folder, name)} ${problem}. Restore it from a backup.`,
    );
    expect(readdirSync(folder)).toEqual([name]);
  });

  test('SIGNING_KEY', async () => {
    const env = { SIGNING_KEY: Buffer.alloc(40).toString('base64') };
    const { code, stdout, stderr } = await start(env).exit();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^Chartledger did not start\. SIGNING_KEY is not an Ed25519 private key [^\n]+\n$/,
    );
  });

  asRoot('one that another user keeps', async () => {
    const path = join(folder, 'webhook-secrets-key');
    writeFileSync(path, Buffer.alloc(32), { mode: 0o600 });
    chownSync(folder, NOBODY, NOBODY);
    expect((await start({}, NOBODY).exit()).stderr).toBe(
      `Chartledger did not start. ${path} cannot be read or made (EACCES). Give the file and its folder to the user of the service (chown).\n`,
    );
  });
});

asRoot('a signing key that is kept from the service is a warning: it does not sign', async () => {
  const path = join(folder, 'signing-key');
  writeFileSync(path, 'x', { mode: 0o600 });
  chownSync(folder, NOBODY, NOBODY);
  const service = start({}, NOBODY);
  await service.url();
  await eventually(() => expect(service.stdout).toContain(`"problem":"${path} cannot be read`));
});

asRoot('what root makes at the command line beside a service of another user is that user’s', async () => {
  chownSync(folder, NOBODY, NOBODY);
  const allow = { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' };
  const cli = async (...args: string[]) => {
    const result = await spawnCli(args, { env: { DATA_DIR: folder, ...allow } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return result.stdout;
  };
  const made = await cli(
    'keys',
    'create',
    '--create-workspace',
    '--workspace',
    'clinic',
    '--permissions',
    'webhooks',
    '--init',
    '--json',
  );
  await cli('secrets', 'show', 'signing');
  await cli('webhooks', 'create', '--workspace', 'clinic', '--url', 'http://127.0.0.1:9/');
  const owners = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).uid]);
  expect(owners.map(([name]) => name)).toEqual(
    expect.arrayContaining(['events.db', 'read-models.db', 'signing-key', 'webhook-secrets-key']),
  );
  expect(owners).toEqual(owners.map(([name]) => [name, NOBODY]));
  const service = start(allow, NOBODY);
  const client = new Client(await service.url(), JSON.parse(made).key);
  expect((await client.post(webhooksPath, { url: 'http://127.0.0.1:9/other' })).status).toBe(200);
  expect((await client.get(webhooksPath)).body.items).toHaveLength(2);
});

test('a key that goes bad while the service runs is never a store that is away', async () => {
  const service = start();
  const url = await service.url();
  const path = join(folder, 'deidentification-key');
  writeFileSync(path, 'short');
  const made = await spawnCli(
    ['keys', 'create', '--workspace', 'default', '--permissions', 'events:deidentified', '--json'],
    { env: { DATA_DIR: folder } },
  );
  const client = new Client(url, JSON.parse(made.stdout).key);
  const answer = await eventually(async () => {
    const got = await client.get('/events?view=deidentified');
    expect(got.status).not.toBe(401);
    return got;
  });
  expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
  expect(answer.text).not.toContain(path);
  await eventually(() => expect(service.stdout).toContain(`"problem":"${path} has 5 bytes`));
});
