import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { CliProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { filesIn, tableIn } from '../support/warehouse.ts';

const LONG_MS = 120_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const args = (folder: string, ...options: string[]) => [
  ...['sink', 'parquet', folder, '--workspace', service.workspaceId('clinic')],
  ...options,
];
/** With a state store of its own, so that no lease says that another one writes. */
const sink = (folder: string) =>
  spawnCli(args(folder), {
    env: { ...storesOf(service.config), STATE_URL: `sqlite:${join(temporaryFolder(), 'state.db')}` },
  });
const followed = (folder: string) =>
  new CliProcess(args(folder, '--follow', '--every', '1s'), storesOf(service.config));
async function postPayer(): Promise<string> {
  const payer = samples.payer();
  expect((await service.post('/integration/payers', payer)).status).toBe(200);
  return payer.id;
}

test(
  'while a sink is suspended no other one writes its folder, whatever became of its lease, and it goes on afterwards',
  async () => {
    const folder = temporaryFolder();
    const first = await postPayer();
    const suspended = followed(folder);
    await suspended.lines(1);
    suspended.child.kill('SIGSTOP');
    const second = await postPayer();
    const before = filesIn(folder);
    expect(await sink(folder)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Another process is writing this warehouse.'),
    });
    expect(filesIn(folder)).toEqual(before);
    suspended.child.kill('SIGCONT');
    await suspended.lines(2);
    expect((await suspended.end('SIGINT')).stderr).toBe('');
    expect((await tableIn(folder, 'payers')).map(({ id }) => id).sort()).toEqual([first, second].sort());

    const third = await postPayer();
    const killed = followed(folder);
    await killed.lines(1);
    killed.child.kill('SIGSTOP');
    await killed.end('SIGKILL');
    await postPayer();
    expect((await sink(folder)).code).toBe(0);
    const fresh = temporaryFolder();
    expect((await sink(fresh)).code).toBe(0);
    expect(filesIn(folder)).toEqual(filesIn(fresh));
    expect((await tableIn(folder, 'payers')).map(({ id }) => id)).toContain(third);
  },
  LONG_MS,
);

test(
  'a sink whose folder was emptied meanwhile writes no more into it',
  async () => {
    const folder = temporaryFolder();
    const emptied = followed(folder);
    await emptied.lines(1);
    rmSync(folder, { recursive: true });
    await postPayer();
    expect((await sink(folder)).code).toBe(0);
    const before = filesIn(folder);
    await postPayer();
    expect(await emptied.exit()).toMatchObject({ code: 1, stderr: expect.stringContaining('was emptied') });
    expect(filesIn(folder)).toEqual(before);
  },
  LONG_MS,
);
