import { afterAll, beforeAll, expect, test } from 'vitest';
import { samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('a first upsert creates, a second one updates', async () => {
    const payer = samples.payer();
    const line = `clinic.payer-${encodeURIComponent(payer.id)}: PayerUpserted`;
    const appended = await appendedBy(service, async () => {
      const created = await service.post('/integration/payers', payer);
      expect(created.status).toBe(200);
      expect(created.headers.etag).toBe('"1"');
      expect(created.body).toEqual({
        success: true,
        message: 'Payer created',
        version: 1,
        outcome: 'created',
        warnings: [],
      });
      const updated = await service.post('/integration/payers', payer);
      expect(updated.body).toMatchObject({ success: true, version: 2, outcome: 'updated' });
    });
    expect(appended).toEqual([line, line]);
  });
});
