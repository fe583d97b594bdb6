import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import { openEventLog } from '../../src/server/openStorage.ts';

import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { TestWorkspace } from '../support/samples.ts';
import { freePort } from '../support/servers.ts';
import { readinessAt } from '../support/service.ts';

const EVENTS = 60;

test('parked events of one cause in one read model are one line with their number', async () => {
  const folder = temporaryFolder();
  const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  const workspace = new TestWorkspace();
  for (let index = 0; index < EVENTS; index += 1) {
    const event = { ...workspace.event({}, 'PatientUpserted'), data: null as never };
    await eventLog.append(recordStream(workspace.id, 'patient', `p-${index}`), event, 'any');
  }
  await eventLog.close();
  const metrics = `http://127.0.0.1:${await freePort()}/metrics`;
  const service = new ServiceProcess({
    ...{ DATA_DIR: folder, LOG_LEVEL: 'info', NODE_ENV: 'production' },
    METRICS_PORT: new URL(metrics).port,
  });
  await service.url();
  const told = () =>
    service.stdout
      .split('\n')
      .filter((line) => line.includes('they were parked'))
      .map((line) => JSON.parse(line))
      .filter(({ model }) => model.startsWith('records_'));
  await eventually(async () => {
    const { projections } = await readinessAt(metrics);
    const parked = Object.entries(projections).find(([model]) => model.startsWith('records_'))?.[1].parked;
    expect(parked).toBe(EVENTS);
  }, 60_000);
  expect((await service.end()).code).toBe(0);
  const lines = told();
  expect(lines.reduce((sum, { events }) => sum + events, 0)).toBe(EVENTS);
  expect(lines.length).toBeLessThanOrEqual(2);
});
