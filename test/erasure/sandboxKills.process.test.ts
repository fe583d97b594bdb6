import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
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
  'a reset that is killed on the way leaves nothing half done, and is finished by the next one',
  async () => {
    const cli = (...args: string[]) => spawnCli(args, { env });
    expect((await cli('workspaces', 'create', 'sandbox', '--sandbox')).code).toBe(0);
    const made = await cli(
      'keys',
      'create',
      '--workspace',
      'sandbox',
      '--permissions',
      'write,read',
      '--json',
    );
    const client = new Client(await running.url(), JSON.parse(made.stdout).key);
    for (let n = 0; n < PATIENTS; n++) {
      const patient = samples.patient();
      expect((await client.post('/integration/patients', patient)).status).toBe(200);
      const encounter = { id: `encounter-${n}`, patient_id: patient.id };
      expect((await client.post('/integration/encounters', encounter)).status).toBe(200);
    }
    const reset = ['workspaces', 'reset', 'sandbox', '--confirm', 'sandbox'];
    const killed = await spawnCli(reset, {
      env,
      onStderr: (text, kill) => {
        if (text.includes('Erased: ')) kill('SIGKILL');
      },
    });
    expect(killed.code).toBe(null);
    const left = async () => (await client.get('/integration/patients?limit=1000')).body.items.length;
    const after = await left();
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThan(PATIENTS);
    expect(await cli(...reset)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Erased: \d+\./),
    });
    for (const plural of ['patients', 'encounters']) {
      await eventually(async () => {
        expect((await client.get(`/integration/${plural}`)).body.items).toEqual([]);
      });
    }
    expect((await cli('verify', '--workspace', 'sandbox')).code).toBe(0);
  },
  LONG_MS,
);
