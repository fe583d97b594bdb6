import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { ServiceProcess } from '../support/processes.ts';
import { createEncounter, documentForm, documentsPath } from '../support/samples.ts';
import { hookUrl, webhooksPath } from '../support/webhooks.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

describe('the files of the embedded stores', () => {
  let folder: string;
  let service: ServiceProcess | undefined;
  let umask: number;
  beforeEach(() => {
    folder = join(temporaryFolder(), 'data');
    umask = process.umask(0o022);
  });
  afterEach(async () => {
    process.umask(umask);
    await service?.end('SIGKILL');
  });

  async function start(env: Record<string, string> = {}): Promise<Client> {
    service = new ServiceProcess({ DATA_DIR: folder, LOG_LEVEL: 'warn', ...env });
    const url = await service.url();
    return new Client(url, /clk_\w{38}/.exec(service.stderr)?.[0]);
  }

  /** The permissions of all that is in the folder, by path. */
  function modes(): Map<string, string> {
    const paths = readdirSync(folder, { recursive: true, withFileTypes: true });
    const all = [folder, ...paths.map(({ parentPath, name }) => join(parentPath, name))];
    return new Map(all.map((path) => [relative(folder, path), modeOf(path)]));
  }

  const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
  const privateMode = (path: string) => (statSync(path).isDirectory() ? '700' : '600');

  function expectPrivate(): void {
    const found = modes();
    expect(found).toEqual(new Map([...found.keys()].map((path) => [path, privateMode(join(folder, path))])));
  }

  /** Has every store and key write a file. */
  async function fill(client: Client): Promise<void> {
    const encounter = await createEncounter(client);
    expect((await client.upload(documentsPath(encounter), documentForm())).status).toBe(200);
    expect((await client.post(webhooksPath, { url: hookUrl() })).status).toBe(200);
    expect((await client.get('/events?view=deidentified')).status).toBe(200);
  }

  const warnings = () => (service as ServiceProcess).stdout.match(/^\{.*other users can access.*$/gm) ?? [];

  test('are for their user alone, whatever the umask, and become so at the next start', async () => {
    await fill(await start());
    expectPrivate();
    const names = [...modes().keys()];
    for (const name of [
      'events.db',
      'events.db-wal',
      'events.db-shm',
      'read-models.db',
      'state.db',
      'session-secret',
    ]) {
      expect(names).toContain(name);
    }
    for (const name of ['webhook-secrets-key', 'deidentification-key']) expect(names).toContain(name);
    expect(names.filter((name) => /^documents\/objects\/..\/./.test(name))).toHaveLength(1);
    expect(warnings()).toEqual([]);

    await service?.end();
    const paths = [...modes().keys()].map((path) => join(folder, path));
    for (const path of paths) chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
    await start();
    expectPrivate();
    expect(warnings()).toEqual([]);
  });

  test('are so when the command line makes them', async () => {
    const made = await spawnCli(['workspaces', 'create', 'clinic', '--init'], { env: { DATA_DIR: folder } });
    expect(made.code).toBe(0);
    expect(modes().get('events.db')).toBe('600');
    expectPrivate();
  });

  test('a folder that others share stays as it is, with a warning; what is in it does not', async () => {
    mkdirSync(folder);
    chmodSync(folder, 0o1777);
    await fill(await start());
    const found = modes();
    expect(found.get('')).toBe('1777');
    expect(found.get('events.db')).toBe('600');
    expect(warnings().map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 40, path: folder, mode: '1777', reason: 'shared' }),
    ]);
  });

  (isRoot ? test : test.skip)('what is not the service’s to change is a warning', async () => {
    mkdirSync(folder);
    chmodSync(join(folder, '..'), 0o755);
    chmodSync(folder, 0o777);
    service = new ServiceProcess({ DATA_DIR: folder, LOG_LEVEL: 'warn' }, { uid: NOBODY });
    await service.url();
    expect(modes().get('')).toBe('777');
    expect(warnings().map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 40, path: folder, mode: '0777', reason: 'EPERM' }),
    ]);
  });
});
