import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import { openReadModels } from '../../src/server/openStorage.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { paths, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ ROLES: 'api' });
  });
  afterAll(() => service.stop());

  test('what refers to an erased record is refused although the read models still have it', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const projector = await service.another({ ROLES: 'projector' });
    const readModels = await openReadModels(service.config.readModelUrl);
    const head = await service.eventLog.head();
    await eventually(async () => expect(await readModels.checkpoint(recordsModel)).toBe(head));
    await projector.stop();
    await readModels.close();

    const options = ['--workspace', service.workspaceId('clinic'), '--reason', 'Request 2026-117'];
    const env = { ...storesOf(service.config), DATA_DIR: temporaryFolder() };
    const { code, stderr } = await runCli(['records', 'erase', 'payer', payer.id, ...options], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const refused = { status: 400, body: { code: 'reference_not_found' } };
    const later = await service.another({ ROLES: 'api' });
    const appended = await appendedBy(service, async () => {
      await eventually(async () =>
        expect(await service.post(`${paths.patient}?dry_run=true`, patient)).toMatchObject(refused),
      );
      for (const process of [service, later])
        expect(await process.post(paths.patient, patient)).toMatchObject(refused);
    });
    expect(appended).toEqual([]);
    await later.stop();
  });
});
