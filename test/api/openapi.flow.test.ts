import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiRoutes, healthRoutes } from '../../src/api/routes/index.ts';
import type { DashboardPorts } from '../../src/dashboard/app.ts';
import { catalog } from '../../src/domain/records/catalog.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import type { ProcessHealth } from '../../src/modules/health.ts';
import { lint } from '../support/lint.ts';
import {
  expectDocumented,
  fetchDocument,
  type OpenApi,
  operationOf,
  operationsOf,
} from '../support/openapi.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

/** The routes that the app has, as `GET /path/{id}` lines. */
function registeredRoutes(): string[] {
  const ports = {} as DashboardPorts & ProcessHealth;
  return [...apiRoutes(ports, false), ...healthRoutes(ports)].map(
    ({ method, endpoint }) => `${method.toUpperCase()} ${endpoint.route.replace(/:(\w+)/g, '{$1}')}`,
  );
}

onEmbeddedEngines((start) => {
  let service: TestService;
  let open: TestService;
  let document: OpenApi;
  beforeAll(async () => {
    service = await start();
    open = await start({ OPENAPI_PUBLIC: 'true' });
    document = await fetchDocument(service);
  });
  afterAll(() => Promise.all([service.stop(), open.stop()]));

  describe('the document', () => {
    test('is OpenAPI 3.1.0 with a version, a license and both ways to send a key', () => {
      expect(document.openapi).toBe('3.1.0');
      expect(document.info).toMatchObject({
        title: 'Chartledger',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        license: { identifier: 'Apache-2.0' },
      });
      const { apiKeyHeader, bearer } = document.components.securitySchemes;
      expect(apiKeyHeader).toMatchObject({ type: 'apiKey', in: 'header', name: 'x-api-key' });
      expect(bearer).toMatchObject({ type: 'http', scheme: 'bearer' });
      expect(document.security).toEqual([{ apiKeyHeader: [] }, { bearer: [] }]);
    });

    test('has every route of the service, and no other', () => {
      const described = operationsOf(document).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
      expect(described.sort()).toEqual(registeredRoutes().sort());
    });

    test('has the header Idempotency-Key, and what it leads to, with every write, and no other operation', () => {
      for (const { method, operation } of operationsOf(document)) {
        const { operationId, parameters = [], responses } = operation;
        const isTaken = parameters.some(({ name }: { name: string }) => name === 'Idempotency-Key');
        // A search and a reconciliation are POSTs that write nothing; interface engines send HL7 messages without headers of their own.
        const isWithout =
          method === 'get' || ['search', 'reconcile', 'receiveHl7Messages'].includes(operationId);
        expect([operationId, isTaken]).toEqual([operationId, !isWithout]);
        if (!isTaken) continue;
        expect(responses['200'].headers).toHaveProperty('Idempotent-Replayed');
        expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '409', '422', '503']));
      }
    });

    test('names each operation once, and gives each a summary, a description and a known tag', () => {
      const operations = operationsOf(document).map(({ operation }) => operation);
      const ids = operations.map(({ operationId }) => operationId);
      expect(new Set(ids).size).toBe(ids.length);
      const tags = document.tags.map(({ name }: { name: string }) => name);
      for (const operation of operations) {
        expect(operation).toMatchObject({
          summary: expect.stringMatching(/\S/),
          description: expect.stringMatching(/\S/),
        });
        expect(tags).toEqual(expect.arrayContaining(operation.tags));
      }
    });

    test('has nothing that generators of clients are known to break on', () => {
      const [messages, operations] = [operationsOf({ paths: document.webhooks }), operationsOf(document)];
      const tags = new Set(operations.flatMap(({ operation }) => operation.tags));
      expect(messages.filter(({ operation }) => operation.tags.some((tag: string) => tags.has(tag)))).toEqual(
        [],
      );

      const { schemas, responses } = document.components;
      const named = (value: unknown) =>
        [...JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
          ([, name]) => name as string,
        );
      const reached = new Set(named([document.paths, responses]));
      for (const name of reached) for (const inner of named(schemas[name])) reached.add(inner);
      expect(Object.keys(schemas).filter((name) => !reached.has(name))).toEqual([]);
      expect(named(document.webhooks).filter((name) => !reached.has(name))).toEqual([]);

      const constants: unknown[] = [];
      JSON.stringify(document, (_key, value) => {
        if (value?.type === 'boolean' && 'enum' in value) constants.push(value);
        return value;
      });
      expect(constants).toEqual([]);
      expect(schemas.Written.properties.success).toEqual({ type: 'boolean', description: 'Always `true`' });
    });

    test('has a file as binary text, and the lines of a batch by their kind', () => {
      const { DocumentUpload, BatchLine, PatientLine } = document.components.schemas;
      expect(DocumentUpload.properties.file).toMatchObject({ type: 'string', format: 'binary' });
      expect(BatchLine.discriminator).toEqual({
        propertyName: 'kind',
        mapping: Object.fromEntries(
          catalog.map(({ kind, title }) => [kind, `#/components/schemas/${title}Line`]),
        ),
      });
      expect(PatientLine.properties.record).toEqual({ $ref: '#/components/schemas/Patient' });
    });

    test('has what generators of clients give types to', () => {
      const { ErrorBody } = document.components.schemas;
      expect(ErrorBody.properties.statusCode).toMatchObject({ type: 'integer', enum: [401] });
      const [isCompleted] = operationOf(document, 'listEncounters').parameters.filter(
        ({ name }: { name: string }) => name === 'is_completed',
      );
      expect(isCompleted.schema.type).toBe('boolean');

      const { requestBody } = operationOf(document, 'sendBatch');
      expect(Object.keys(requestBody.content)).toEqual(['application/json', 'application/x-ndjson']);
      const answers = operationsOf(document).flatMap(({ operation }) =>
        Object.entries<{ schema: object }>(operation.responses[200].content ?? {}),
      );
      const others = answers.filter(([type]) => !/[/+]json$/.test(type));
      const bytes = { type: 'string', format: 'binary' };
      expect(others.filter(([, { schema }]) => !('format' in schema))).toEqual([]);
      expect(others).toContainEqual(['text/event-stream', expect.objectContaining({ schema: bytes })]);
    });

    test('says which fields may be null', () => {
      const { Patient, PatientState, Encounter } = document.components.schemas;
      expect(Patient.properties.first_name.type).toBe('string');
      expect(Patient.properties.phone.type).toEqual(['string', 'null']);
      expect(Patient.properties.gender.enum).toEqual(['male', 'female', 'other', null]);
      expect(Patient.properties.primary_insurance.anyOf).toEqual([
        { $ref: '#/components/schemas/Insurance' },
        { type: 'null' },
      ]);
      expect(Encounter.properties.is_completed.type).toEqual(['boolean', 'null']);
      expect(PatientState.properties.phone.type).toBe('string');
      expect(PatientState.required).toContain('country');
    });

    test.each(['with a key', 'public'])('lints clean with the recommended rules (%s)', async (form) => {
      const { problems, totals } = await lint(form === 'public' ? await fetchDocument(open) : document);
      expect(problems).toEqual([]);
      expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
    });
  });

  test.each(['private', 'public'])(
    'may be cached, and is sent again only when it changed (%s)',
    async (scope) => {
      const client = scope === 'public' ? open.as(undefined) : service;
      const appended = await appendedBy(service, async () => {
        const answer = await client.get('/openapi/json');
        expectDocumented(answer.body, 'getOpenApi', answer);
        expect(answer.headers['cache-control']).toBe(`${scope}, max-age=3600`);
        const again = await client.get('/openapi/json', { 'if-none-match': String(answer.headers.etag) });
        expect(again.status).toBe(304);
        expectDocumented(answer.body, 'getOpenApi', again);
        const changed = await client.get('/openapi/json', { 'if-none-match': '"another"' });
        expect(changed.body).toEqual(answer.body);
      });
      expect(appended).toEqual([]);
    },
  );

  describe('who may read it', () => {
    test('any key, by either header; nobody without one', async () => {
      const appended = await appendedBy(service, async () => {
        expect((await service.as(undefined).get('/openapi/json')).status).toBe(401);
        const bearer = { authorization: `Bearer ${service.key}` };
        expect((await service.as(undefined).get('/openapi/json', bearer)).status).toBe(200);
      });
      expect(appended).toEqual([]);
      for (const permission of ['write', 'read', 'events'] as const) {
        const { key } = await service.createKey('clinic', [permission]);
        expect((await service.as(key).get('/openapi/json')).status).toBe(200);
      }
    });

    test('everyone with OPENAPI_PUBLIC, and it says so', async () => {
      let shown: OpenApi | undefined;
      const appended = await appendedBy(open, async () => {
        shown = await fetchDocument(open.as(undefined));
      });
      expect(appended).toEqual([]);
      expect(operationOf(shown as OpenApi, 'getOpenApi')).toMatchObject({
        security: [],
        'x-permission': 'public',
        description: expect.stringContaining('to everyone'),
      });
      expect(operationOf(document, 'getOpenApi').security).toBeUndefined();
    });

    test('each operation needs the permission that the document names', async () => {
      const keys = new Map<Permission, string>();
      for (const permission of ['write', 'read', 'events'] as const) {
        keys.set(permission, (await service.createKey('clinic', [permission])).key);
      }
      const appended = await appendedBy(service, async () => {
        for (const { method, path, operation } of operationsOf(document)) {
          const send = async (key: string | undefined) => {
            const options = { method: method.toUpperCase() };
            return (await service.as(key).send(path.replace(/\{\w+\}/g, 'nobody'), options)).status;
          };
          const needed = operation['x-permission'];
          const isPublic = needed === 'public';
          expect([operation.operationId, operation.security]).toEqual([
            operation.operationId,
            isPublic ? [] : undefined,
          ]);
          expect([path, (await send(undefined)) === 401]).toEqual([path, !isPublic]);
          for (const [permission, key] of keys) {
            const refused = !isPublic && needed !== 'key' && ![needed].flat().includes(permission);
            expect([path, permission, (await send(key)) === 403]).toEqual([path, permission, refused]);
          }
        }
      });
      expect(appended).toEqual([]);
    });
  });
});
