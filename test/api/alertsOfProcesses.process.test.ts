import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { tlsFixture, tlsSettings } from '../support/messages.ts';
import { MonitoredService } from '../support/metrics.ts';

const LONG_MS = 120_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe.concurrent('alerts tell', { timeout: LONG_MS }, () => {
  test('that a process is gone, that nothing has a role, and that a process starts again and again, until all is back', async (context) => {
    const service = await MonitoredService.start(context);
    const [role, down, restarts] = [
      'ChartledgerRoleMissing',
      'ChartledgerProcessDown',
      'ChartledgerProcessRestarts',
    ] as const;
    await service.mark();
    await service.expectQuiet([role, down, restarts]);
    service.signal('SIGKILL');
    // With it are gone the roles that no other has.
    await service.expectFiring(role, down);
    const roles = ['api', 'projector', 'webhooks'];
    for (const missing of roles) {
      expect(await service.firing(restarts)).toEqual([]);
      await service.restart({ ROLES: roles.filter((one) => one !== missing).join() });
      await service.expectFiring(role);
      await service.expectQuiet([down]);
    }
    await service.expectFiring(restarts);
    await service.restart({ ROLES: roles.join() });
    await service.mark();
    await service.expectQuiet([role, down, restarts]);
  });

  test.skipIf(!canMount())(
    'that a disk will be full soon, until the data is on a larger one',
    async (context) => {
      const disk = new SmallDisk('24m');
      context.onTestFinished(() => disk.remove());
      const service = await MonitoredService.start(context, { DATA_DIR: disk.path });
      await service.expectFiring('ChartledgerDiskLow');
      const low = /^(?:warn|fail) {2}disk: \d+ MiB are free/m;
      await service.look('ChartledgerDiskLow', [{ stdout: expect.stringMatching(low) }]);
      await service.restart({ DATA_DIR: temporaryFolder() });
      await service.expectQuiet(['ChartledgerDiskLow']);
    },
  );

  test('that nobody takes a backup, until somebody does', async (context) => {
    const service = await MonitoredService.start(context);
    const alerts = ['ChartledgerBackupOld'];
    await service.expectQuiet(alerts);
    service.setAhead(3 * DAY_MS);
    await service.expectFiring(...alerts);
    const folder = temporaryFolder();
    const passphrase = join(folder, 'passphrase');
    writeFileSync(passphrase, 'correct horse battery staple', { mode: 0o600 });
    await service.mend('ChartledgerBackupOld', 'backup', { backups: join(folder, 'backup'), passphrase });
    await service.expectQuiet(alerts);
    service.setAhead(6 * DAY_MS);
    await service.expectFiring(...alerts);
  });

  test('that heads do not go out, which processes without that role know as well, until they do', async (context) => {
    const service = await MonitoredService.start(context, { HEADS_TO: temporaryFolder() });
    const alerts = ['ChartledgerHeadsOld'];
    await service.restart({ ROLES: 'api,projector' });
    await service.expectQuiet(alerts);
    service.setAhead(4 * HOUR_MS);
    await service.expectFiring(...alerts);
    await service.restart({ ROLES: 'api,projector,heads' });
    await service.expectQuiet(alerts);
  });

  test('that a certificate will expire, until it is renewed', async (context) => {
    const service = await MonitoredService.start(context, {
      ...tlsSettings(),
      ROLES: 'api,mllp',
      MLLP_PORT: '0',
    });
    const alerts = ['ChartledgerCertificateExpires'];
    await service.expectQuiet(alerts);
    const end = Date.parse(new X509Certificate(tlsFixture('server').cert).validTo);
    service.setAhead(end - Date.now() - 7 * DAY_MS);
    await service.expectFiring(...alerts);
    service.setAhead(0);
    await service.expectQuiet(alerts);
  });
});
