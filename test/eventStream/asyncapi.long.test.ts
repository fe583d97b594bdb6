import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { catalog } from '../../src/domain/records/catalog.ts';
import { type CloudEvent, feedEventTypes } from '../../src/modules/eventStream/cloudEvents.ts';

import { runCli, storesOf } from '../support/cli.ts';
import type { Client, TestResponse } from '../support/client.ts';
import { lint } from '../support/lint.ts';
import { closed, expectDocumented, fetchDocument, type OpenApi, operationOf } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { inWorkspace, worklist } from '../support/readiness.ts';
import { documentForm, documentsPath, sampleOf } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is walked freely
type AsyncApi = Record<string, any>;

const types = feedEventTypes.map(({ type }) => type);
const narrowed = ['limited', 'deidentified'] as const;
const names = types.flatMap((type) => [type, ...narrowed.map((view) => `${type}.${view}`)]);
const schemaPath = (name: string) => `/schemas/${name}`;

/** Every value under the key `$ref`. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [inner] : references(inner)));
}

function resolveReference(document: AsyncApi, reference: string): AsyncApi {
  const [root, ...path] = reference.split('/');
  expect(root).toBe('#');
  return path.reduce((inner: AsyncApi, key) => inner?.[key], document);
}

/** What a message of the document says of a whole event. */
function payloadSchema(document: AsyncApi, name: string): z.ZodType {
  const { payload } = document.components.messages[name];
  const whole = JSON.stringify({ ...payload, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/'), closed));
}

onEmbeddedEngines((start) => {
  let service: TestService;
  let open: TestService;
  let openapi: OpenApi;
  let asyncapi: AsyncApi;
  beforeAll(async () => {
    service = await start();
    open = await start({ OPENAPI_PUBLIC: 'true' });
    openapi = await fetchDocument(service);
    asyncapi = (await service.get('/asyncapi/json')).body;
  });
  afterAll(() => Promise.all([service.stop(), open.stop()]));

  /** Writes every example of every kind, and a document that it removes. */
  async function writeEverything(): Promise<void> {
    for (const { title, plural } of catalog) {
      const { examples } = operationOf(openapi, `upsert${title}`).requestBody.content['application/json'];
      for (const { value } of Object.values<{ value: object }>(examples)) {
        expect((await service.post(`/integration/${plural}`, value)).status).toBe(200);
      }
    }
    const path = documentsPath('encounter-4001');
    const id = phi('document');
    expect((await service.upload(path, documentForm({ document_id: id }))).status).toBe(200);
    expect((await service.delete(`${path}/${encodeURIComponent(id)}`)).status).toBe(200);
    const billed = '/integration/encounters/encounter-4001/billed';
    const claim = phi('claim');
    expect((await service.post(billed, { claim_id: claim })).status).toBe(200);
    const sent = { id: 'encounter-4001', patient_id: 'patient-1001', visit_type: 'telehealth' };
    expect((await service.post('/integration/encounters', sent)).status).toBe(200);
    const reason = { reason: phi('Accepted as it was') };
    expect((await service.post(`${billed}/acknowledge`, reason)).status).toBe(200);
    const outcome = { source: '277CA', outcome: 'accepted' };
    expect((await service.post(`${billed}/${claim}/outcome`, outcome)).status).toBe(200);
    const readiness = '/integration/encounters/encounter-4001/readiness';
    const [{ rule }] = (await service.get(readiness)).body.findings;
    const answer = { rule, answer: 'noted', note: phi('Asked the practice') };
    expect((await service.post(`${readiness}/answers`, answer)).status).toBe(200);
  }

  /** Erases a record of each kind, and a document; answers with how many events the stream tells of that. */
  async function eraseOneOfEach(): Promise<number> {
    const made: Record<string, string> = {};
    for (const entry of catalog) {
      const record = sampleOf(entry, made);
      made[entry.kind] = record.id;
      expect((await service.post(`/integration/${entry.plural}`, record)).status).toBe(200);
    }
    const upload = await service.upload(documentsPath(String(made.encounter)), documentForm());
    expect(upload.status).toBe(200);
    const billed = `/integration/encounters/${made.encounter}/billed`;
    expect((await service.post(billed, { claim_id: phi('claim') })).status).toBe(200);
    const options = ['--workspace', service.workspaceId('clinic'), '--reason', 'Request 2026-117'];
    for (const [kind, id] of Object.entries(made).reverse()) {
      const { code, stderr } = await runCli(['records', 'erase', kind, id, ...options], {
        env: storesOf(service.config),
      });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }
    return catalog.length + 2;
  }

  /** The whole stream, as a key of that permission reads it. */
  async function readStream(
    permission: 'events' | `events:${(typeof narrowed)[number]}`,
  ): Promise<CloudEvent[]> {
    const { key } = await service.createKey('clinic', [permission]);
    const { status, text } = await service.as(key).get('/events', { accept: 'application/x-ndjson' });
    expect(status).toBe(200);
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  describe('the catalogue', () => {
    test('is an AsyncAPI 3.0.0 document without a fault', async () => {
      expect(asyncapi).toMatchObject({
        asyncapi: '3.0.0',
        info: { title: 'Chartledger events', version: openapi.info.version },
        channels: { events: { address: '/events' } },
      });
      const { problems, totals } = await lint(asyncapi);
      expect(problems).toEqual([]);
      expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
      const { host: _host, ...server } = asyncapi.servers.self;
      const broken = await lint({ ...asyncapi, servers: { self: server } });
      expect(broken.problems).toMatchObject([{ message: 'The field `host` must be present on this level.' }]);
    });

    test('has every type of event in each view, and no other', () => {
      expect(Object.keys(asyncapi.components.messages).sort()).toEqual([...names].sort());
      expect(Object.keys(asyncapi.channels.events.messages).sort()).toEqual([...names].sort());
      const sent = (operation: string) =>
        references(asyncapi.operations[operation].messages).map(
          (reference) => resolveReference(asyncapi, resolveReference(asyncapi, reference).$ref).name,
        );
      expect(sent('sendEvents')).toEqual(types);
      expect(sent('sendLimitedEvents')).toEqual(types.map((type) => `${type}.limited`));
      expect(sent('sendDeidentifiedEvents')).toEqual(types.map((type) => `${type}.deidentified`));
    });

    test('refers to nothing that is not there', () => {
      const all = references(asyncapi);
      expect(all.length).toBeGreaterThan(names.length);
      for (const reference of all) {
        expect([reference, resolveReference(asyncapi, reference)]).toEqual([reference, expect.any(Object)]);
      }
    });

    test('takes keys as the service does', () => {
      const { apiKeyHeader, bearer } = asyncapi.components.securitySchemes;
      expect(apiKeyHeader).toMatchObject({ type: 'httpApiKey', in: 'header', name: 'x-api-key' });
      expect(bearer).toMatchObject({ type: 'http', scheme: 'bearer' });
      expect(references(asyncapi.servers.self.security)).toHaveLength(2);
    });
  });

  describe('the schemas', () => {
    let schemas: Map<string, TestResponse>;
    beforeAll(async () => {
      schemas = new Map();
      for (const name of names) schemas.set(name, await service.get(schemaPath(name)));
    });

    test.each(names)('%s is a JSON Schema 2020-12 of that name', (name) => {
      const { status, body } = schemas.get(name) as TestResponse;
      expect(status).toBe(200);
      expect(body).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        $id: schemaPath(name),
        title: expect.stringMatching(/\S/),
        required: ['version', 'sent', 'changed'],
      });
      for (const reference of references(body)) {
        expect(resolveReference(body, reference)).toMatchObject({ type: 'object' });
      }
      expect(body.additionalProperties).toBe(types.includes(name) ? undefined : false);
    });

    test('hold of every event that the service writes, in each view', async () => {
      // What is there before the worklist is begun would be no news.
      await worklist(service);
      const written = 3 * catalog.length + 7;
      expect(await appendedBy(service, writeEverything)).toHaveLength(written);
      const erased = await eraseOneOfEach();
      expect(await inWorkspace(service, 'readiness', 'set', 'facility_tax_id', 'off')).toMatchObject({
        code: 0,
      });
      await worklist(service);
      const full = await readStream('events');
      const [limited, deidentified] = [
        await readStream('events:limited'),
        await readStream('events:deidentified'),
      ];
      expect(new Set(full.map(({ type }) => type))).toEqual(new Set(types));
      const byItself = full.filter(({ type }) => /readiness_changed|rules_applied/.test(type)).length;
      const all = written + erased + byItself;
      expect([full, limited, deidentified].map(({ length }) => length)).toEqual([all, all, all]);
      const both = [...full, ...limited, ...deidentified];
      expect(new Set(both.map(({ dataschema }) => dataschema?.replace(service.url, '')))).toEqual(
        new Set(names.map(schemaPath)),
      );
      for (const event of both) {
        const name = String(event.dataschema?.replace(`${service.url}/schemas/`, ''));
        const data = z.fromJSONSchema(JSON.parse(schemas.get(name)?.text ?? '', closed));
        expect([name, data.safeParse(event.data).error?.issues ?? []]).toEqual([name, []]);
        const whole = payloadSchema(asyncapi, name);
        expect([name, whole.safeParse(event).error?.issues ?? []]).toEqual([name, []]);
      }
    });

    test.each(types)('%s tells its views apart', (type) => {
      const [full, limited, deidentified] = [type, ...narrowed.map((view) => `${type}.${view}`)].map((name) =>
        Object.keys(schemas.get(name)?.body.properties.sent.properties),
      ) as [string[], string[], string[]];
      expect(full).toEqual(expect.arrayContaining(limited));
      expect(limited).toEqual(expect.arrayContaining(deidentified));
      if (!/[._](?:removed|erased|applied)\.v1$/.test(type))
        expect(full.length).toBeGreaterThan(limited.length);
    });
  });

  describe('both', () => {
    const operations: [string, string][] = [
      ['getAsyncApi', '/asyncapi/json'],
      ['getEventSchema', schemaPath('chartledger.patient.upserted.v1')],
    ];

    test.each(operations)(
      '%s is answered as it is described, and once more only when it changed',
      async (id, path) => {
        const appended = await appendedBy(service, async () => {
          const answer = await service.get(path);
          expectDocumented(openapi, id, answer);
          expect(answer.headers['cache-control']).toBe('private, max-age=3600');
          const etag = String(answer.headers.etag);
          expect(etag).toMatch(/^"[\w-]{43}"$/);
          for (const known of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
            const again = await service.get(path, { 'if-none-match': known });
            expect([known, again.status]).toEqual([known, 304]);
            expectDocumented(openapi, id, again);
          }
          const changed = await service.get(path, { 'if-none-match': '"another"' });
          expect(changed.status).toBe(200);
          expect(changed.body).toEqual(answer.body);
        });
        expect(appended).toEqual([]);
      },
    );

    test.each(operations)('%s needs a key of any permission', async (id, path) => {
      const { key } = await service.createKey('clinic', ['events:deidentified']);
      const appended = await appendedBy(service, async () => {
        expect((await service.as(key).get(path)).status).toBe(200);
        const refused = await service.as(undefined).get(path);
        expect(refused.status).toBe(401);
        expectDocumented(openapi, id, refused);
      });
      expect(appended).toEqual([]);
    });

    test.each(operations)('%s needs none where the descriptions are public', async (id, path) => {
      const anybody: Client = open.as(undefined);
      const answer = await anybody.get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers['cache-control']).toBe('public, max-age=3600');
      expectDocumented(await fetchDocument(anybody), id, answer);
    });
  });

  test.each(['chartledger.patient.upserted.v2', 'PatientUpserted', 'constructor', '%00'])(
    'there is no schema %s',
    async (name) => {
      const appended = await appendedBy(service, async () => {
        const answer = await service.get(schemaPath(name));
        expect(answer.status).toBe(404);
        expect(answer.body).toMatchObject({ code: 'not_found' });
        expectDocumented(openapi, 'getEventSchema', answer);
      });
      expect(appended).toEqual([]);
    },
  );
});
