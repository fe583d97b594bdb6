import { CloudEvent, HTTP } from 'cloudevents';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { EventReader } from '../support/log.ts';
import { createEncounter, documentForm, documentsPath } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';
import { HookSuite, payersOf } from '../support/webhooks.ts';

const PUBLIC_URL = 'https://chartledger.example.com';

onEmbeddedEngines((start) => {
  describe('the official SDK takes every event of the stream', () => {
    let service: TestService;
    let full: Client;
    beforeAll(async () => {
      service = await start({ TRUST_PROXY: '1' });
      full = service.as((await service.createKey('clinic', ['write', 'read', 'events'])).key);
      const encounter = await createEncounter(full);
      await full.upload(documentsPath(encounter), documentForm({ document_id: 'report-1' }));
      await full.delete(documentsPath(encounter, 'report-1'));
    });
    afterAll(() => service.stop());

    /** The events of a page, as the SDK has them: it throws for one that is none. */
    async function read(client: Client, query = '', headers: Record<string, string> = {}) {
      const { status, text } = await client.get(`/events${query}`, headers);
      expect(status).toBe(200);
      const lines = text.trimEnd().split('\n');
      return lines.map((line) => new CloudEvent<{ version: number }>(JSON.parse(line), true));
    }

    test.each(['full', 'deidentified'])('in the view %s, and the schema is where it says', async (view) => {
      const events = await read(full, `?view=${view}`);
      expect(events).toHaveLength(4);
      for (const { dataschema, type } of events) {
        const ending = view === 'full' ? type : `${type}.deidentified`;
        expect(dataschema).toBe(`${service.url}/schemas/${ending}`);
        const { status } = await full.get(new URL(dataschema as string).pathname);
        expect([dataschema, status]).toEqual([dataschema, 200]);
      }
    });

    test('by the address that was asked, as proxies tell it', async () => {
      const proxied = { host: 'emr.example:8443', 'x-forwarded-proto': 'https' };
      const [[first], [asked]] = [await read(full), await read(full, '', proxied)];
      expect(asked?.dataschema).toBe(first?.dataschema?.replace(service.url, 'https://emr.example:8443'));
      const events = await accessesBy(service, async () => {
        const { status } = await full.get('/events', { host: 'a b"c' });
        expect(status).toBe(400);
      });
      expect(events).toEqual([]);
    });

    test('live, for readers that know the service by several addresses', async () => {
      const other = await EventReader.open(full, '/events', { host: 'emr.example' });
      const own = await EventReader.open(full, '/events');
      for (const [reader, address] of [
        [own, service.url],
        [other, 'http://emr.example'],
      ] as const) {
        const [event] = await reader.count(1);
        expect(new CloudEvent({ ...event }, true).dataschema).toContain(`${address}/schemas/`);
        reader.kill();
      }
    });
  });

  describe('with PUBLIC_URL', () => {
    const hooks = new HookSuite((env) => start({ ...env, PUBLIC_URL }));

    test.each(['full', 'deidentified', 'reference'])(
      'messages to webhooks, of payload %s',
      async (payload) => {
        const { endpoint, id } = await hooks.open({ payload });
        const appended = await appendedBy(hooks.service, () => hooks.write(payersOf(1), 1));
        expect(appended).toHaveLength(1);
        await hooks.expectAll({ endpoint, id });
        const [{ headers, body } = { headers: {}, body: '' }] = endpoint.received;
        const event = HTTP.toEvent({
          headers: headers as Record<string, string>,
          body,
        }) as CloudEvent<unknown>;
        const schema = `${PUBLIC_URL}/schemas/chartledger.payer.upserted.v1`;
        const schemas = { full: schema, deidentified: `${schema}.deidentified`, reference: undefined };
        expect(event.dataschema).toBe(schemas[payload as keyof typeof schemas]);
        expect(event.validate()).toBe(true);
      },
    );

    test('the stream names it, whatever was asked', async () => {
      await hooks.write(payersOf(1), 1);
      const { text } = await hooks.client.get('/events', { host: 'emr.example' });
      expect(JSON.parse(text).dataschema).toBe(`${PUBLIC_URL}/schemas/chartledger.payer.upserted.v1`);
    });
  });
});
