import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { spawnCli } from '../support/cli.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { ServiceProcess } from '../support/processes.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-failed-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What a start says that fails: all of it. */
async function failure(env: Record<string, string>, uid?: number): Promise<string> {
  const service = new ServiceProcess({ DATA_DIR: folder, ...env }, uid === undefined ? {} : { uid });
  const { code, stdout, stderr } = await service.exit();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}

const told = (text: string) => `Chartledger did not start. ${text}\n`;

describe('a start that fails says in one line which path or host, and what to do', () => {
  test('for a data folder that lies in a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const text = 'lies in what is a file, not a folder, or is a file itself. Give another path.';
    expect(await failure({ DATA_DIR: join(file, 'data') })).toBe(
      told(`${join(file, 'data', 'deidentification-key.next')} ${text}`),
    );
    const env = { DATA_DIR: join(folder, 'data'), DOCUMENTS_URL: `file:${file}` };
    expect(await failure(env)).toBe(told(`${file} ${text}`));
  });

  test('for heads that cannot be sent to their folder', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const text = 'Bad settings: HEADS_TO must be a folder that exists and can be written:';
    expect(await failure({ HEADS_TO: join(folder, 'none') })).toBe(told(`${text} ${folder}/none (ENOENT)`));
    expect(await failure({ HEADS_TO: file })).toBe(told(`${text} ${file} (ENOTDIR)`));
  });

  test('for a file that another process has locked', async () => {
    const path = join(folder, 'read-models.db');
    const other = new DatabaseSync(path);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (c)');
    expect(await failure({})).toBe(
      told(`${path} is locked by another process. One service works on it at a time: end the other one.`),
    );
    other.close();
  });

  test('for a file that is none of SQLite', async () => {
    const path = join(folder, 'state.db');
    writeFileSync(path, 'x'.repeat(10_000));
    expect(await failure({})).toBe(
      told(`${path} is damaged. Stop the service and restore the file from a backup.`),
    );
  });

  test('for a damaged file of read models, which another start builds anew once it is deleted', async () => {
    const path = join(folder, 'read-models.db');
    writeFileSync(path, 'x'.repeat(10_000));
    expect(await failure({})).toBe(
      told(
        `${path} is damaged. Stop the service and delete the file: the next start rebuilds it from the event log.`,
      ),
    );
  });

  (isRoot ? test : test.skip)('for a folder of another user', async () => {
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'data'), { mode: 0o755 });
    const path = join(folder, 'data', 'events.db');
    expect(await failure({ DATA_DIR: join(folder, 'data') }, NOBODY)).toBe(
      told(`${path} is not there, or may not be opened. Check the path, its mount and its permissions.`),
    );
  });

  (canMount() ? test : test.skip)('for a full disk', async () => {
    const disk = new SmallDisk('16k');
    try {
      const text =
        'cannot grow: its disk or quota is full. Free space; a running service then continues without a restart.';
      expect(await failure({ DATA_DIR: disk.path })).toBe(told(`${join(disk.path, 'events.db')} ${text}`));
    } finally {
      disk.remove();
    }
  });

  test('for an address that is none of this machine', async () => {
    const line =
      /^Chartledger did not start\. (\S+) is not an address of this machine \(\w+\)\. Set HOST to one that is, [^\n]*\n$/;
    expect(line.exec(await failure({ HOST: '[::1]' }))?.[1]).toBe('[::1]');
    expect(line.exec(await failure({ HOST: '192.0.2.1' }))?.[1]).toBe('192.0.2.1');
  });

  test('and below it the stack, at the level debug alone', async () => {
    const service = new ServiceProcess({ DATA_DIR: folder, HOST: '192.0.2.1', LOG_LEVEL: 'debug' });
    const [line, stack] = (await service.exit()).stderr.split('\n');
    expect(line).toContain('192.0.2.1 is not an address of this machine');
    expect(JSON.parse(stack as string)).toMatchObject({
      code: 'unavailable',
      cause: { code: 'EADDRNOTAVAIL' },
    });
  });

  test('on the command line, too', async () => {
    const path = join(folder, 'events.db');
    writeFileSync(path, 'x'.repeat(10_000));
    expect(await spawnCli(['keys', 'list'], { env: { DATA_DIR: folder } })).toEqual({
      code: 1,
      stdout: '',
      stderr: `${path} is damaged. Stop the service and restore the file from a backup.\n`,
    });
  });
});

test('a setting that is nearly one is a warning that names it, for the service and the command line', async () => {
  const env = { RATE_LIMIT_PER_MIN: '5', DATADIR: '/data', TRUSTPROXY: '1', Log_Level: 'debug' };
  const service = new ServiceProcess({ DATA_DIR: folder, LOG_LEVEL: 'info', NODE_ENV: 'production', ...env });
  await service.url();
  const { stdout } = await service.end();
  const messages = [...stdout.matchAll(/"msg":"([^"]*) is not a setting; did you mean (\w+)\?"/g)];
  const named = {
    RATE_LIMIT_PER_MIN: 'RATE_LIMIT_PER_MINUTE',
    DATADIR: 'DATA_DIR',
    TRUSTPROXY: 'TRUST_PROXY',
  };
  expect(Object.fromEntries(messages.map(([, name, meant]) => [name, meant]))).toEqual({
    ...named,
    Log_Level: 'LOG_LEVEL',
  });
  const { code, stderr } = await spawnCli(['keys', 'list'], { env: { DATA_DIR: folder, DATADIR: '/data' } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'DATADIR is not a setting; did you mean DATA_DIR?\n' });
});
