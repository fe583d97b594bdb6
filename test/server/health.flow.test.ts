import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentsModel, recordsModel } from '../../projections/records.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type Faults, startFaultyApp, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ METRICS_PORT: '0' });
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

  const stores = { event_log: 'ok', read_models: 'ok', state_store: 'ok', document_store: 'ok' };

  test('readyz tells the public of roles and stores, and nothing by which the writes of others can be counted', async () => {
    await service.post('/integration/payers', samples.payer());
    await eventually(async () => {
      const { body } = await service.as(undefined).get('/readyz');
      const roles = { api: 'ready', projector: 'ready', webhooks: 'ready' };
      expect(body).toEqual({ status: 'ready', roles, degraded: [], ...stores });
      expect((await service.get('/readyz')).body).toEqual(body);
    });
  });

  test('readyz tells operators, at the port of the metrics, how far each projection is and what to fix', async () => {
    await service.post('/integration/payers', samples.payer());
    const head = await service.eventLog.head();
    await eventually(async () => {
      const body = await service.readiness();
      expect(body).toMatchObject({ status: 'ready', degraded: [], ...stores, warnings: [] });
      const { projections } = body;
      expect(projections[recordsModel]).toEqual({ position: expect.any(Number), behind: 0, parked: 0 });
      expect(projections[recordsModel]?.position).toBeGreaterThanOrEqual(head);
      expect(projections[documentsModel]).toMatchObject({ behind: 0, parked: 0 });
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
