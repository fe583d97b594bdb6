import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentsModel } from '../../projections/documents.ts';
import { recordsModel } from '../../projections/records.ts';
import { unavailable } from '../../src/errors.ts';
import { type Faults, startFaultyApp } from '../support/app.ts';
import { Client } from '../support/client.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('health needs no key, and asking for it appends nothing', async () => {
    const anyone = service.as(undefined);
    const appended = await appendedBy(service, async () => {
      expect(await anyone.get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
      expect((await anyone.get('/readyz')).status).toBe(200);
      expect(await anyone.send('/healthz', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    });
    expect(appended).toEqual([]);
  });

  test('readyz tells of each store, and how far each projection is', async () => {
    await service.post('/integration/payers', samples.payer());
    const head = await service.eventLog.head();
    await eventually(async () => {
      const { body } = await service.as(undefined).get('/readyz');
      expect(body).toMatchObject({
        status: 'ready',
        roles: { api: 'ready', projector: 'ready', webhooks: 'ready' },
        degraded: [],
        event_log: 'ok',
        read_models: 'ok',
        document_store: 'ok',
      });
      expect(body.projections[recordsModel]).toEqual({ position: expect.any(Number), behind: 0, parked: 0 });
      expect(body.projections[recordsModel].position).toBeGreaterThanOrEqual(head);
      expect(body.projections[documentsModel]).toMatchObject({ behind: 0, parked: 0 });
    });
  });

  const away = () => Promise.reject(unavailable('store'));
  const ready = { api: 'ready', projector: 'ready', webhooks: 'ready' };
  const outages: [string, Faults, number, object][] = [
    [
      'event log',
      { eventLog: { check: away } },
      503,
      {
        status: 'unavailable',
        roles: { api: 'unavailable', projector: 'unavailable', webhooks: 'unavailable' },
        degraded: [],
        event_log: 'unavailable',
      },
    ],
    [
      'document store',
      { documentStore: { check: away } },
      200,
      { status: 'ready', roles: ready, degraded: ['document_store'], document_store: 'unavailable' },
    ],
    [
      'read models',
      { readModels: { checkpoint: away } },
      200,
      {
        status: 'ready',
        roles: { ...ready, projector: 'unavailable' },
        degraded: ['read_models'],
        read_models: 'unavailable',
      },
    ],
    [
      'state store',
      { stateStore: { check: away } },
      200,
      {
        status: 'ready',
        roles: { ...ready, webhooks: 'unavailable' },
        degraded: ['state_store'],
        state_store: 'unavailable',
      },
    ],
  ];
  test.each(outages)('readyz without the %s', async (_label, faults, status, body) => {
    const app = await startFaultyApp(service, faults);
    const answer = await new Client(app.url, undefined).get('/readyz');
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers['retry-after']).toBe(status === 503 ? '2' : undefined);
    expect((await new Client(app.url, undefined).get('/healthz')).status).toBe(200);
    await app.stop();
  });
});
