import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startService } from '../../src/server/service.ts';
import { startFailure } from '../../src/server/startFailure.ts';
import { STORE_FORMAT } from '../../src/storage/storeFormat.ts';
import { runCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { thawStore } from '../support/files.ts';
import { laterFormatBuild, newerBuild, ServiceProcess } from '../support/processes.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { startTestService } from '../support/service.ts';

const LONG_MS = 180_000;
const files = ['events.db', 'state.db', 'read-models.db'];
let folder: string;
let key: string | undefined;
let running: ServiceProcess | undefined;
beforeEach(() => {
  folder = temporaryFolder();
  key = undefined;
});
afterEach(async () => {
  await running?.end();
  rmSync(folder, { recursive: true, force: true });
});

function launch(command?: string[]): ServiceProcess {
  const settings = { DATA_DIR: folder, RATE_LIMIT_PER_MINUTE: '0' };
  running = new ServiceProcess(settings, command && { command });
  return running;
}

/** What a program does there from its start to its end. */
async function during(work: (client: Client) => Promise<void>, command?: string[]): Promise<void> {
  const process = launch(command);
  const url = await process.url();
  key ??= /x-api-key: (clk_\w+)/.exec(process.stderr)?.[1];
  await work(new Client(url, key));
  expect((await process.end()).code).toBe(0);
}

function formatOf(file: string): number {
  const db = new DatabaseSync(join(folder, file), { readOnly: true });
  const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  db.close();
  return format;
}

function setFormat(store: string, format: number): void {
  if (store === 'documents') {
    const path = join(folder, store, 'store.json');
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), format }));
    return;
  }
  const db = new DatabaseSync(join(folder, store));
  db.exec(`PRAGMA user_version = ${format}`);
  db.close();
}

function formats(): number[] {
  const { format } = JSON.parse(readFileSync(join(folder, 'documents', 'store.json'), 'utf8'));
  return [...files.map(formatOf), format];
}

/** The bytes of all files of stores. */
function contents(): [string, string][] {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  const stored = names.filter((entry) => entry.isFile() && !/-(wal|shm)$/.test(entry.name));
  return stored.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path, readFileSync(path, 'base64')];
  });
}

test(
  'a program of the same format goes on where a newer one left off; one of an earlier format refuses in one line',
  async () => {
    const [first, second] = [samples.payer(), samples.payer()];
    const build = (make: typeof newerBuild) => {
      const to = join(folder, '..', `build-${make.name}-${Date.now()}`);
      mkdirSync(to);
      return make(to);
    };
    await during(async (client) => {
      expect((await client.post(paths.payer, first)).status).toBe(200);
    });
    expect(formats()).toEqual(Array(4).fill(STORE_FORMAT));
    await during(async (client) => {
      expect((await client.post(paths.facility, samples.facility())).status).toBe(200);
    }, build(newerBuild));
    await during(async (client) => {
      expect((await client.get(pathOf('payer', first.id))).body.record).toMatchObject(first);
    });

    await during(async (client) => {
      expect((await client.post(paths.payer, second)).status).toBe(200);
    }, build(laterFormatBuild));
    expect(formats()).toEqual(Array(4).fill(STORE_FORMAT + 1));
    const before = contents();
    const { code, stdout, stderr } = await launch().exit();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^Chartledger did not start\. \S+events\.db is of format \d+, of a newer version of Chartledger; .*\n$/,
    );
    const command = await runCli(['keys', 'list'], { env: { DATA_DIR: folder } });
    expect(command).toMatchObject({ code: 1, stdout: '' });
    expect(command.stderr).toContain('is of format');
    expect(contents()).toEqual(before);
  },
  LONG_MS,
);

test(
  'each store refuses a program of an earlier format',
  async () => {
    const service = await startTestService({ DATA_DIR: folder });
    expect((await service.post(paths.payer, samples.payer())).status).toBe(200);
    await service.stop();
    for (const store of [...files, 'documents']) {
      setFormat(store, STORE_FORMAT + 1);
      const starting = startService(service.config, pino({ level: 'silent' }));
      const failure = startFailure(await starting.catch((error) => error), undefined);
      expect(failure).toContain(`${store} is of format ${STORE_FORMAT + 1}`);
      expect(failure).not.toContain('\n');
      setFormat(store, STORE_FORMAT);
    }
  },
  LONG_MS,
);

test(
  'stores of version 0.1.0, which do not name their format, are opened and marked',
  async () => {
    const frozen = thawStore('0.1.0', folder);
    key = frozen.key;
    running = new ServiceProcess({ ...frozen.settings, DATA_DIR: folder });
    const client = new Client(await running.url(), key);
    expect((await client.get('/integration/payers/payer-1')).status).toBe(200);
    expect((await running.end()).code).toBe(0);
    expect(formats()).toEqual(Array(4).fill(STORE_FORMAT));
  },
  LONG_MS,
);
