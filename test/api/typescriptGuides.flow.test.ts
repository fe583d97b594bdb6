import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FhirResource } from '../../clients/typescript/src/index.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, chartledgerOf, errorOf, newEvents, type TestService } from '../support/service.ts';

const HOOK = 'http://127.0.0.1:9/hook';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' });
  });
  afterAll(() => service.stop());

  const clientOf = async (...permissions: ('write' | 'read' | 'events' | 'webhooks')[]) =>
    chartledgerOf({ ...service, key: (await service.createKey('clinic', permissions)).key });

  test('a webhook is created, changed, tried, given another secret, sent again and deleted', async () => {
    const chartledger = await clientOf('webhooks');
    const events = await newEvents(service, async () => {
      const created = await chartledger.request((api) =>
        api.POST('/integration/webhooks', { params: {}, body: { url: HOOK, kinds: ['payer'] } }),
      );
      expect(created).toMatchObject({
        url: HOOK,
        state: 'enabled',
        secret: expect.stringMatching(/^whsec_/),
      });
      const params = { path: { id: created.id } };
      const changed = await chartledger.request((api) =>
        api.PATCH('/integration/webhooks/{id}', { params, body: { description: 'Billing' } }),
      );
      expect(changed.description).toBe('Billing');
      const ping = await chartledger.request((api) =>
        api.POST('/integration/webhooks/{id}/ping', { params }),
      );
      expect(ping).toHaveProperty('message_id');
      const rotated = await chartledger.request((api) =>
        api.POST('/integration/webhooks/{id}/secret/rotate', { params, body: { overlap_seconds: 60 } }),
      );
      expect(rotated.secret).not.toBe(created.secret);
      await chartledger.request((api) => api.POST('/integration/webhooks/{id}/retry', { params }));
      await chartledger.request((api) =>
        api.POST('/integration/webhooks/{id}/replay', { params, body: { after: '0' } }),
      );
      const { items } = await chartledger.request((api) =>
        api.GET('/integration/webhooks/{id}/attempts', { params }),
      );
      expect(items).toEqual(expect.any(Array));
      const { delivery } = await chartledger.request((api) =>
        api.GET('/integration/webhooks/{id}', { params }),
      );
      expect(delivery).toMatchObject({ pending: expect.any(Number) });
      await chartledger.request((api) => api.DELETE('/integration/webhooks/{id}', { params }));
      const gone = chartledger.request((api) => api.GET('/integration/webhooks/{id}', { params }));
      expect(await errorOf(gone)).toMatchObject({ code: 'not_found' });
    });
    const types = events.map(({ type }) => type).filter((type) => type !== 'AccessRecorded');
    expect(types).toEqual([
      'WebhookCreated',
      'WebhookUpdated',
      'WebhookPinged',
      'WebhookSecretRotated',
      'WebhookRetryRequested',
      'WebhookReplayRequested',
      'WebhookDeleted',
    ]);
  });

  test('the schema of an event and the event catalog are read', async () => {
    const chartledger = await clientOf('events');
    const appended = await appendedBy(service, async () => {
      const name = 'chartledger.payer.upserted.v1';
      const schema = await chartledger.request((api) =>
        api.GET('/schemas/{name}', { params: { path: { name } } }),
      );
      expect(schema).toMatchObject({ type: 'object', properties: { sent: {} } });
      const { asyncapi } = await chartledger.request((api) => api.GET('/asyncapi/json'));
      expect(asyncapi).toBe('3.0.0');
    });
    expect(appended).toEqual([]);
  });

  test('FHIR resources are sent alone, in a Bundle and as Bulk Data; a refusal names its elements', async () => {
    const chartledger = await clientOf('write');
    const [first, second, third] = [phi('patient'), phi('patient'), phi('patient')];
    const patient = (id: string): FhirResource => ({
      ...{ resourceType: 'Patient', id, birthDate: '1984-02-29' },
      name: [{ family: 'Lopez', given: ['Maria'] }],
    });
    const appended = await appendedBy(service, async () => {
      const put = await chartledger.send((api) =>
        api.PUT('/fhir/{type}/{id}', {
          params: { path: { type: 'Patient', id: first } },
          body: patient(first),
        }),
      );
      expect(put.response.status).toBe(201);
      const bundle = await chartledger.request((api) =>
        api.POST('/fhir', {
          body: {
            ...{ resourceType: 'Bundle', type: 'transaction' },
            entry: [{ resource: patient(second), request: { method: 'PUT', url: `Patient/${second}` } }],
          },
        }),
      );
      expect(bundle).toMatchObject({
        resourceType: 'Bundle',
        entry: [{ response: { status: '201 Created' } }],
      });
      const results = await chartledger.request((api) =>
        api.POST('/fhir/$import', {
          body: `${JSON.stringify(patient(third))}\n`,
          bodySerializer: (lines: unknown) => lines,
          headers: { 'Content-Type': 'application/fhir+ndjson' },
          parseAs: 'text',
        }),
      );
      expect(JSON.parse(results)).toMatchObject({ summary: { lines: 1, created: 1 } });
      const refused = chartledger.request((api) =>
        api.POST('/fhir/{type}', {
          params: { path: { type: 'Patient' } },
          body: { ...patient(first), birthDate: 'soon' },
        }),
      );
      const error = await errorOf(refused);
      expect(error).toMatchObject({ status: 400, details: [{ field: 'Patient.birthDate' }] });
      expect(error.message).toContain(error.details[0]?.message);
      const statement = await chartledger.request((api) => api.GET('/fhir/metadata'));
      expect(statement.resourceType).toBe('CapabilityStatement');
    });
    expect(appended).toEqual([first, second, third].map((id) => `clinic.patient-${id}: PatientUpserted`));
  });
});
