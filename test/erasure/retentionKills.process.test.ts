import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { momentBetween, sixYearsAfter } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';

/** More than are erased between two lines of progress. */
const PATIENTS = 120;
const LONG_MS = 300_000;

const folder = temporaryFolder();
const env = { DATA_DIR: folder, RATE_LIMIT_PER_MINUTE: '0', RETENTION_YEARS: '6' };
let running: ServiceProcess;
let client: Client;
beforeAll(async () => {
  running = new ServiceProcess(env);
  const url = await running.url();
  client = new Client(url, /x-api-key: (clk_\w+)/.exec(running.stderr)?.[1] ?? '');
});
afterAll(() => running.end('SIGKILL'));

test(
  'retention that is killed on the way leaves nothing half done, and is finished by the next run',
  async () => {
    for (let n = 0; n < PATIENTS; n++) {
      const patient = samples.patient();
      expect((await client.post('/integration/patients', patient)).status).toBe(200);
      const encounter = { id: `encounter-${n}`, patient_id: patient.id };
      expect((await client.post('/integration/encounters', encounter)).status).toBe(200);
    }
    const eventLog = await openEventLog(`sqlite:${folder}/events.db`);
    const time = sixYearsAfter(await momentBetween({ eventLog }));
    await eventLog.close();
    // Only where the command looks at the clock: what its threads write keeps its time.
    const clock = `import { isMainThread } from 'node:worker_threads'; if (isMainThread) Date.now = () => ${time};`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(clock)}`;
    const workspace = ['--workspace', 'default'];
    const run = (words: string[], onStderr?: Parameters<typeof spawnCli>[1]) =>
      spawnCli(['retention', ...words, ...workspace], { env: { ...env, NODE_OPTIONS }, ...onStderr });
    const killed = () =>
      run(['apply'], {
        onStderr: (text, kill) => {
          if (text.includes('Erased: ')) kill('SIGKILL');
        },
      });
    const due = async () => {
      const { stdout } = await run(['list', '--format', 'json']);
      // An encounter whose patient went just before the kill may stand there alone until the service has finished that erasure.
      return (JSON.parse(stdout) as { kind: string }[]).filter(({ kind }) => kind === 'patient').length;
    };
    expect(await due()).toBe(PATIENTS);
    expect((await killed()).code).toBe(null);
    const left = await due();
    expect(left).toBeLessThan(PATIENTS);
    expect(left).toBeGreaterThan(0);
    const last = await run(['apply', '--json']);
    expect(JSON.parse(last.stdout)).toMatchObject({ encounters: left, held: 0, unreadable: 0 });
    expect(await due()).toBe(0);
    for (const plural of ['patients', 'encounters']) {
      await eventually(async () => {
        const { body } = await client.get(`/integration/${plural}`);
        expect(body.items).toEqual([]);
      });
    }
    expect((await spawnCli(['verify', '--workspace', 'default'], { env })).code).toBe(0);
  },
  LONG_MS,
);
