import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { MonitoredService } from '../support/metrics.ts';
import { samples } from '../support/samples.ts';
import { tableIn } from '../support/warehouse.ts';
import { createWebhook, HookEndpoint, memberOf, openLoopback, patch } from '../support/webhooks.ts';

const LONG_MS = 120_000;
const MINUTE_MS = 60_000;
const PAYERS = '/integration/payers';

const isTaken = async ({ client }: MonitoredService) =>
  expect((await client.post(PAYERS, samples.payer())).status).toBe(200);

describe.concurrent('alerts tell', { timeout: LONG_MS }, () => {
  test.skipIf(!canMount())(
    'that read models do not get on, until their disk has room; one that is damaged is built anew',
    async (context) => {
      const disk = new SmallDisk('8m');
      context.onTestFinished(() => disk.remove());
      const READ_MODEL_URL = `sqlite:${disk.path}/read-models.db`;
      const service = await MonitoredService.start(context, { LOG_LEVEL: 'error', READ_MODEL_URL });
      const alerts = ['ChartledgerReadModelsBehind', 'ChartledgerWarns'];
      await service.expectQuiet(alerts, () => isTaken(service));
      const releasePlace = disk.fill();
      await eventually(async () => {
        await isTaken(service);
        expect(service.log).toContain('the projector is not making progress');
      }, LONG_MS);
      service.setAhead(2 * MINUTE_MS);
      await service.expectFiring(...alerts);
      await service.look('ChartledgerReadModelsBehind', [
        { code: 0, stdout: expect.stringMatching(/^records_v\d+ +\d+ +[1-9]/m) },
      ]);
      releasePlace();
      service.setAhead(0);
      await service.expectQuiet(alerts);
      await service.mend('ChartledgerReadModelsBehind', 'projections rebuild');
    },
  );

  test('of a clock that is wrong, until it is set', async (context) => {
    const service = await MonitoredService.start(context);
    service.setAhead(60 * MINUTE_MS);
    await service.expectFiring('ChartledgerWarns');
    const { warnings } = await service.readiness();
    expect(warnings.map(({ code }: { code: string }) => code)).toContain('clock_stepped');
    service.setAhead(0);
    await service.expectQuiet(['ChartledgerWarns']);
  });

  test('of an event that could not be taken, until the log has it back and read models are built anew', async (context) => {
    const service = await MonitoredService.start(context, { ROLES: 'api' });
    await isTaken(service);
    await service.stop();
    const log = new DatabaseSync(join(service.dataDir, 'events.db'));
    const last = 'position = (SELECT max(position) FROM events)';
    const kept = log.prepare(`SELECT data FROM events WHERE ${last}`).get()?.data as string;
    const change = log.prepare(`UPDATE events SET data = ? WHERE position = ?`);
    const position = log.prepare('SELECT max(position) AS last FROM events').get()?.last as number;
    change.run('{', position);
    await service.restart({ ROLES: 'api,projector,webhooks' });
    const alerts = ['ChartledgerEventsParked'];
    await service.expectFiring(...alerts);
    await service.look(
      'ChartledgerEventsParked',
      [
        { code: 0, stdout: expect.stringMatching(/^records_v\d+( +\d+){3} +1$/m) },
        { code: 1, stderr: expect.stringContaining('cannot be read') },
      ],
      { clinic: 'default' },
    );
    change.run(kept, position);
    log.close();
    await service.mend('ChartledgerEventsParked', 'projections rebuild');
    await service.expectQuiet(alerts);
  });

  test('of a webhook whose endpoint takes nothing, until it does; what was given up is sent again', async (context) => {
    const endpoint = await HookEndpoint.open();
    context.onTestFinished(() => endpoint.down());
    const service = await MonitoredService.start(context, openLoopback);
    const webhook = await createWebhook(service.client, { url: endpoint.url });
    const values = { clinic: 'default', 'wh_…': webhook.id };
    const [behind, failed] = ['ChartledgerWebhooksBehind', 'ChartledgerWebhookMessagesFailed'] as const;
    const isTried = (count: number) =>
      eventually(() => expect(endpoint.received.length).toBeGreaterThanOrEqual(count), LONG_MS);
    const fails = async () => {
      endpoint.answer = () => 500;
      endpoint.received.length = 0;
      await isTaken(service);
      await isTried(1);
    };

    await fails();
    service.setAhead(20 * MINUTE_MS);
    await service.expectFiring(behind);
    const listed = { code: 0, stdout: expect.stringContaining(webhook.id) };
    await service.look(behind, [listed, { code: 0, stdout: expect.stringContaining('500') }], values);
    endpoint.answer = () => 200;
    await service.mend(behind, 'webhooks retry', values);
    await service.expectQuiet([behind, failed]);

    await fails();
    // Each change of a webhook makes what waits due.
    let changes = 0;
    await eventually(async () => {
      changes += 1;
      await patch(service.client, memberOf(webhook), { description: `Change ${changes}` });
      expect(await service.firing(failed)).toEqual([failed]);
    }, LONG_MS);
    await service.look(failed, [{ code: 0, stdout: expect.stringContaining('failed') }], values);
    endpoint.answer = () => 200;
    await service.mend(failed, 'webhooks replay', values);
    await service.expectQuiet([behind, failed]);

    await fails();
    service.setAhead(40 * MINUTE_MS);
    await service.expectFiring(behind);
    await service.mend(behind, 'webhooks set', values);
    await service.expectQuiet([behind]);
  });

  test('of a sink that is behind or silent, until it runs again or is removed', async (context) => {
    const service = await MonitoredService.start(context, { ROLES: 'api,projector,webhooks' });
    const [behind, silent] = ['ChartledgerConsumersBehind', 'ChartledgerConsumersSilent'] as const;
    const sink = () =>
      spawnCli(
        [
          'sink',
          'parquet',
          join(service.dataDir, 'warehouse'),
          '--workspace',
          'default',
          '--consumer',
          'lake',
        ],
        { env: { DATA_DIR: service.dataDir } },
      );
    expect((await sink()).code).toBe(0);
    await service.expectQuiet([behind, silent], () => isTaken(service));
    service.setAhead(2 * 60 * MINUTE_MS);
    await service.expectFiring(behind);
    const values = { clinic: 'default', NAME: 'lake' };
    await service.look(
      behind,
      [{ code: 0, stdout: expect.stringMatching(/^sink +lake +full +[1-9]/m) }],
      values,
    );
    service.setAhead(0);
    expect((await sink()).code).toBe(0);
    service.setAhead(25 * 60 * MINUTE_MS);
    await service.expectFiring(silent);
    await service.mend(behind, 'consumers remove', values);
    await service.expectQuiet([behind, silent]);
  });

  test('of a warehouse that cannot be written, until its folder can be', async (context) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    const service = await MonitoredService.start(context, {
      WAREHOUSES: `default=${folder}`,
      WAREHOUSES_EVERY_SECONDS: '1',
      LOG_LEVEL: 'warn',
    });
    const alerts = ['ChartledgerWarehousesFail'];
    await service.expectFiring(...alerts);
    await eventually(() => expect(service.log).toContain('a warehouse cannot be written'));
    await service.look(
      'ChartledgerWarehousesFail',
      [{ code: 0, stdout: expect.not.stringContaining('parquet') }],
      { clinic: 'default' },
    );
    rmSync(join(folder, 'notes.txt'));
    await service.expectQuiet(alerts);
    expect(await tableIn(folder, 'access')).toEqual([]);
  });
});
