import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchDocument, type OpenApi, type Operation, operationsOf } from '../support/openapi.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, refusalsBy, sharedService, type TestService } from '../support/service.ts';

const ignored = ['/healthz', '/readyz'];

onEmbeddedEngines(() => {
  let service: TestService;
  let document: OpenApi;
  beforeAll(async () => {
    service = await sharedService();
    service = Object.assign(service, {
      key: (await service.createKey('clinic', ['write', 'read', 'events', 'webhooks', 'audit', 'settings']))
        .key,
    });
    document = await fetchDocument(service);
  });
  afterAll(() => service.stop());

  const known = ({ parameters = [] }: Operation): string[] =>
    parameters.filter((one: { in: string }) => one.in === 'query').map(({ name }: { name: string }) => name);

  test('a parameter that the document does not name is refused, with those that it names', async () => {
    const appended = await appendedBy(service, async () => {
      for (const { method, path, operation } of operationsOf(document)) {
        if (ignored.includes(path)) continue;
        const address = path.replace(/\{\w+\}/g, 'nobody');
        const { status, body } = await service.send(`${address}?nobody_knows=1&limit=1`, {
          method: method.toUpperCase(),
        });
        const names = known(operation);
        const takes = names.length === 0 ? 'takes none' : `takes ${names.join(', ')}`;
        const message = `is not a known query parameter; this path ${takes}`;
        expect([path, status, body.code]).toEqual([path, 400, 'validation_failed']);
        expect(body.details).toContainEqual({ field: 'nobody_knows', message });
        expect(body.error).toContain(`nobody_knows ${message}`);
        expect(body.details).toHaveLength(names.includes('limit') ? 1 : 2);
      }
    });
    expect(appended).toEqual([]);
  });

  test('a parameter that is sent twice is refused by its name, whatever its values', async () => {
    const appended = await appendedBy(service, async () => {
      for (const { method, path, operation } of operationsOf(document)) {
        if (ignored.includes(path)) continue;
        const address = path.replace(/\{\w+\}/g, 'nobody');
        for (const name of known(operation)) {
          const { status, body } = await service.send(`${address}?${name}=5&${name}=5`, {
            method: method.toUpperCase(),
          });
          expect([path, name, status]).toEqual([path, name, 400]);
          expect(body.details).toEqual([{ field: name, message: 'must be sent once' }]);
        }
      }
    });
    expect(appended).toEqual([]);
  });

  test('a misspelt view shows nothing, and the refusal is in the audit trail', async () => {
    const refusals = await refusalsBy(service, async () => {
      const { status, text } = await service.get('/events?views=deidentified');
      expect([status, text.includes('"views"')]).toEqual([400, true]);
    });
    expect(refusals).toMatchObject([{ route: '/events', code: 'validation_failed' }]);
  });

  test('an upsert with a parameter that it does not know is refused, and stores nothing', async () => {
    const appended = await appendedBy(service, async () => {
      const { status } = await service.post(`${paths.payer}?dry-run=true`, samples.payer());
      expect(status).toBe(400);
    });
    expect(appended).toEqual([]);
  });

  test('long and hostile names are cut, and many are not all repeated', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `n${at}${'x'.repeat(120)}`);
    const { status, body } = await service.get(`${paths.payer}?${names.join('&')}`);
    expect(status).toBe(400);
    expect(body.details).toHaveLength(20);
    for (const { field } of body.details) expect(field).toHaveLength(100);
  });

  test('probes may add what they like; without a key nothing is told', async () => {
    const appended = await appendedBy(service, async () => {
      for (const path of ignored) expect((await service.get(`${path}?t=1`)).status).toBe(200);
      expect((await service.as(undefined).get(`${paths.payer}?x=1`)).status).toBe(401);
    });
    expect(appended).toEqual([]);
  });
});
