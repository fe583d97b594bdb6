import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { samples } from '../support/samples.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

test('a first upsert creates, a second one updates', async () => {
  const payer = samples.payer();
  const stream = `clinic.payer-${payer.id}`;
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
  expect(appended).toEqual([`${stream}: PayerUpserted`, `${stream}: PayerUpserted`]);
});
