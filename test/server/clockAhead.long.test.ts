import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import { signedIn } from '../support/dashboard.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, openLogFile, startTestService, type TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;
const ahead = /^The last event was recorded at \S+, 3[56]\d\d seconds ahead of this machine's clock/;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ METRICS_PORT: '0' });
});
afterAll(() => service.stop());

const doctor = (...args: string[]) =>
  runCli(['doctor', ...args], {
    env: {
      ...storesOf(service.config),
      DATA_DIR: service.config.dataDir,
      PORT: new URL(service.url).port,
    },
  });
const readiness = () => service.readiness();

/** The newest event is of a moment when the clock was wrong. */
function setLastTime(time: number): void {
  const db = openLogFile(service);
  db.prepare('UPDATE events SET recorded_at = ? WHERE position = (SELECT max(position) FROM events)').run(
    time,
  );
  db.close();
}

test('nothing is to be seen to, and nothing is told', async () => {
  expect(await readiness()).toMatchObject({ status: 'ready', warnings: [] });
  const { code, stdout, stderr } = await doctor();
  // No backup was taken yet.
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toMatch(/^ok {4}clock: /m);
});

test('a log that is ahead of the clock is told of everywhere', async () => {
  setLastTime(Date.now() + HOUR_MS);
  const appended = await appendedBy(service, async () => {
    const { status, warnings } = await readiness();
    expect({ status, warnings }).toEqual({
      status: 'ready',
      warnings: [{ code: 'clock_behind_log', message: expect.stringMatching(ahead) }],
    });
    const { code, stdout, stderr } = await doctor();
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout).toMatch(
      /^fail {2}clock: The last event was recorded at .* If this clock is wrong, correct it/m,
    );
    const results = JSON.parse((await doctor('--json')).stdout);
    expect(results).toContainEqual(expect.objectContaining({ status: 'fail', code: 'clock_behind_log' }));
  });
  expect(appended).toEqual([]);
  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir, LOG_LEVEL: 'info' };
  const other = new ServiceProcess({ ...env, ROLES: 'api', NODE_ENV: 'production' });
  await other.url();
  expect((await other.end()).stdout).toContain('"code":"clock_behind_log"');
});

test('the dashboard tells of it', async () => {
  const { visitor } = await signedIn(service, 'viewer');
  setLastTime(Date.now() + HOUR_MS);
  const overview = await visitor.get(`/workspaces/${service.workspaceId('clinic')}`);
  expect(overview.text).toContain('ahead of this machine');
});

test('events after one of a wrong clock have their own time, and the service goes on', async () => {
  setLastTime(Date.now() + HOUR_MS);
  const payer = samples.payer();
  const appended = await appendedBy(service, async () => {
    expect((await service.post('/integration/payers', payer)).status).toBe(200);
  });
  expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  const stream = `${service.workspaceId('clinic')}.payer-${payer.id}`;
  const [event] = await service.eventLog.readStream(stream, { limit: 1 });
  expect(Math.abs(Date.parse(event?.recordedAt ?? '') - Date.now())).toBeLessThan(HOUR_MS / 6);
  expect(await readiness()).toMatchObject({ status: 'ready', warnings: [] });
});

test('stores that are not there are findings', async () => {
  const env = { DATA_DIR: `${service.config.dataDir}/nowhere` };
  const { code, stdout, stderr } = await runCli(['doctor'], { env });
  expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
  expect(stdout).toMatch(/^fail {2}event_log: There is no event log at /m);
});
