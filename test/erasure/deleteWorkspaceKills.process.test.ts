import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';

/** More than are erased between two lines of progress. */
const PATIENTS = 120;
const LONG_MS = 300_000;

const env = { DATA_DIR: temporaryFolder(), RATE_LIMIT_PER_MINUTE: '0' };
let running: ServiceProcess;
beforeAll(async () => {
  running = new ServiceProcess(env);
  await running.url();
});
afterAll(() => running.end('SIGKILL'));

test(
  'a deletion that is killed on the way stays begun, waits for a hold, and is finished by the next one',
  async () => {
    const cli = (...args: string[]) => spawnCli(args, { env });
    const created = ['keys', 'create', '--workspace', 'old', '--create-workspace', '--json'];
    const made = await cli(...created, '--permissions', 'write,read');
    const client = new Client(await running.url(), JSON.parse(made.stdout).key);
    const payer = samples.payer();
    expect((await client.post('/integration/payers', payer)).status).toBe(200);
    for (let n = 0; n < PATIENTS; n++)
      expect((await client.post('/integration/patients', samples.patient())).status).toBe(200);
    const deletion = ['workspaces', 'delete', 'old', '--confirm', 'old'];
    const killed = await spawnCli(deletion, {
      env,
      onStderr: (text, kill) => {
        if (text.includes('Erased: ')) kill('SIGKILL');
      },
    });
    expect(killed.code).toBe(null);
    const planned = async () =>
      JSON.parse((await cli('workspaces', 'delete', 'old', '--dry-run', '--json')).stdout);
    const left = await planned();
    expect(left).toMatchObject({ state: 'deleting', records: { payer: 1 } });
    expect(left.records.patient).toBeGreaterThan(0);
    expect(left.records.patient).toBeLessThan(PATIENTS);
    expect((await client.get('/integration/patients')).status).toBe(403);
    expect(await cli('workspaces', 'activate', 'old')).toMatchObject({
      code: 1,
      stderr:
        'Workspace old is being deleted. Run `chartledger workspaces delete old --confirm old` to continue.\n',
    });

    const hold = ['holds', 'create', 'payer', payer.id, '--workspace', 'old', '--reason', 'Case 7', '--json'];
    const { id } = JSON.parse((await cli(...hold)).stdout);
    const held = await cli(...deletion);
    expect(held).toMatchObject({ code: 1, stdout: '' });
    expect(held.stderr).toContain('1 legal hold is in force');
    expect(await planned()).toEqual({ ...left, holds: 1 });

    await cli('holds', 'release', id, '--workspace', 'old', '--reason', 'Closed');
    const done = await cli(...deletion, '--json');
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({
      state: 'deleted',
      records: { payer: 1, patient: PATIENTS },
    });
    expect(await cli('verify', '--workspace', 'old')).toMatchObject({ code: 0, stderr: '' });
  },
  LONG_MS,
);
