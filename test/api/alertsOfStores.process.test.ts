import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as passed } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { linesOf, postLines } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { MonitoredService } from '../support/metrics.ts';
import { samples } from '../support/samples.ts';

const LONG_MS = 120_000;
/** Longer than the alerts take for slow. */
const SLOW_MS = 700;
const PAYERS = '/integration/payers';

const post = ({ client }: MonitoredService) => client.post(PAYERS, samples.payer());
const isTaken = async (service: MonitoredService) => expect((await post(service)).status).toBe(200);

describe.concurrent('alerts tell', { timeout: LONG_MS }, () => {
  test.skipIf(!canMount())(
    'that a disk is full, as doctor does, until there is room on it',
    async (context) => {
      const disk = new SmallDisk('24m');
      context.onTestFinished(() => disk.remove());
      const service = await MonitoredService.start(context, { DATA_DIR: disk.path });
      const alerts = [
        'ChartledgerNotReady',
        'ChartledgerStoreAway',
        'ChartledgerStoreErrors',
        'ChartledgerRequestsFail',
      ];
      await service.expectQuiet(alerts, () => isTaken(service));
      const releasePlace = disk.fill();
      await eventually(async () => {
        expect((await post(service)).status).toBe(503);
        expect(await service.firing(...alerts)).toEqual(alerts);
      }, LONG_MS);
      const found = /^fail {2}event_log: .* cannot grow: its disk or quota is full\./m;
      await service.look('ChartledgerStoreAway', [{ code: 2, stdout: expect.stringMatching(found) }]);
      releasePlace();
      await service.expectQuiet(alerts, () => isTaken(service));
    },
  );

  test('that events wait, and appends are slow, while something else keeps the disk busy', async (context) => {
    // A workspace has half of the places.
    const service = await MonitoredService.start(context, { BATCH_CONCURRENCY: '24' });
    const alerts = ['ChartledgerAppendsWait', 'ChartledgerAppendsSlow'];
    await service.expectQuiet(alerts, () => isTaken(service));
    const other = new DatabaseSync(join(service.dataDir, 'events.db'));
    other.exec('BEGIN IMMEDIATE');
    const lines = () =>
      linesOf(Array.from({ length: 500 }, () => ({ kind: 'payer', record: samples.payer() })));
    const sent = Promise.all(Array.from({ length: 12 }, () => postLines(service.client, lines())));
    await service.expectFiring('ChartledgerAppendsWait');
    await passed(SLOW_MS);
    other.exec('ROLLBACK');
    other.close();
    await service.expectFiring('ChartledgerAppendsSlow');
    for (const { status } of await sent) expect(status).toBe(200);
    await service.expectQuiet(alerts, () => isTaken(service));
  });

  test('that a process gets too little of a processor, until it gets more', async (context) => {
    const service = await MonitoredService.start(context);
    await eventually(async () => {
      service.signal('SIGSTOP');
      await passed(SLOW_MS);
      service.signal('SIGCONT');
      expect(await service.firing('ChartledgerEventLoopLate')).toEqual(['ChartledgerEventLoopLate']);
    }, LONG_MS);
    await service.expectQuiet(['ChartledgerEventLoopLate']);
  });
});
