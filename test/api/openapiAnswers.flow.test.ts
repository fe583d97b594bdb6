import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalog } from '../../src/domain/records/catalog.ts';
import type { TestResponse } from '../support/client.ts';
import { expectDocumented, fetchDocument, type OpenApi, operationOf } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentLine, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

type Body = Record<string, string>;

onEmbeddedEngines((start) => {
  let service: TestService;
  let limited: TestService;
  let document: OpenApi;
  beforeAll(async () => {
    service = await start();
    limited = await start({ RATE_LIMIT_PER_MINUTE: '1' });
    document = await fetchDocument(service);
  });
  afterAll(() => Promise.all([service.stop(), limited.stop()]));

  const examplesOf = (operationId: string, type: string): Record<string, { value: Body }> =>
    operationOf(document, operationId).requestBody.content[type].examples;

  /** Asserts an answer's status, and that the document describes the answer. */
  async function expectAnswer(operationId: string, status: number, sending: Promise<TestResponse>) {
    const answer = await sending;
    expect([operationId, answer.status]).toEqual([operationId, status]);
    expectDocumented(document, operationId, answer);
    return answer;
  }

  test('every example of a request is accepted, and the answers are as described', async () => {
    const expected: string[] = [];
    const appended = await appendedBy(service, async () => {
      for (const { kind, title, plural } of catalog) {
        const path = `/integration/${plural}`;
        for (const [name, { value }] of Object.entries(examplesOf(`upsert${title}`, 'application/json'))) {
          const { body } = await expectAnswer(`upsert${title}`, 200, service.post(path, value));
          expect(body.warnings).toEqual([]);
          expected.push(`clinic.${kind}-${value.id}: ${title}Upserted`);
          const read = await expectAnswer(`get${title}`, 200, service.get(`${path}/${value.id}`));
          const shown = operationOf(document, `get${title}`).responses[200].content['application/json']
            .example;
          if (name === 'complete') expect(read.body.record).toEqual(shown.record);
        }
        const list = `list${plural[0]?.toUpperCase()}${plural.slice(1)}`;
        const { body } = await expectAnswer(list, 200, service.get(path));
        expect(body.items).toHaveLength(1);
      }
      const encounterId = examplesOf('upsertEncounter', 'application/json').minimal?.value.id as string;
      for (const { value } of Object.values(examplesOf('uploadDocument', 'multipart/form-data'))) {
        const { document_id, category, file } = value as {
          document_id: string;
          category: string;
          file: string;
        };
        const form = documentForm({ document_id, category, content: Buffer.from(file) });
        const documents = documentsPath(encounterId);
        const path = documentsPath(encounterId, document_id);
        await expectAnswer('uploadDocument', 200, service.upload(documents, form));
        const { body } = await expectAnswer('listDocuments', 200, service.get(documents));
        expect(body.items).toHaveLength(1);
        const { text } = await expectAnswer('downloadDocument', 200, service.get(path));
        expect(text).toBe(file);
        await expectAnswer('deleteDocument', 200, service.delete(path));
        expected.push(documentLine(encounterId, document_id));
        expected.push(documentLine(encounterId, document_id, 'DocumentRemoved'));
      }
    });
    expect(appended).toEqual(expected);
    expect(expected).toHaveLength(catalog.length * 3 + 2);
  });

  test('the service describes its own answers about itself', async () => {
    const appended = await appendedBy(service, async () => {
      await expectAnswer('getHealth', 200, service.get('/healthz'));
      await expectAnswer('getReadiness', 200, service.get('/readyz'));
      await expectAnswer('getOpenApi', 200, service.get('/openapi/json'));
    });
    expect(appended).toEqual([]);
  });

  test('refused requests are answered as described', async () => {
    const payer = samples.payer();
    const reader = service.as((await service.createKey('clinic', ['read'])).key);
    const documents = documentsPath(phi('nobody'));
    const raw = (body: string, headers: Record<string, string>) =>
      service.send('/integration/payers', { method: 'POST', body, headers });
    const json = { 'content-type': 'application/json' };
    const absent = { ...samples.encounter(phi('nobody')), provider_id: phi('nobody') };
    const line = `clinic.payer-${payer.id}: PayerUpserted`;
    const appended = await appendedBy(service, async () => {
      await expectAnswer(
        'upsertPayer',
        200,
        service.post('/integration/payers', { ...payer, state: 'Nebraska' }),
      );
      await expectAnswer('upsertPayer', 400, service.post('/integration/payers', { id: 1 }));
      await expectAnswer('upsertPayer', 400, raw('{', json));
      await expectAnswer('upsertPayer', 400, service.post('/integration/payers', payer, { 'if-match': 'x' }));
      await expectAnswer('upsertEncounter', 400, service.post('/integration/encounters', absent));
      await expectAnswer('upsertPayer', 401, service.as(undefined).post('/integration/payers', payer));
      await expectAnswer('upsertPayer', 403, reader.post('/integration/payers', payer));
      const conflict = service.post('/integration/payers', payer, { 'if-none-match': '*' });
      await expectAnswer('upsertPayer', 412, conflict);
      await expectAnswer('upsertPayer', 413, raw(' '.repeat(1024 * 1024 + 1), json));
      await expectAnswer('upsertPayer', 415, raw('{}', { 'content-type': 'text/plain' }));
      await expectAnswer('listPayers', 400, service.get('/integration/payers?limit=0'));
      await expectAnswer('listPayers', 400, service.get('/integration/payers?page_token=x'));
      await expectAnswer('getPayer', 400, service.get('/integration/payers/%zz'));
      await expectAnswer('getPayer', 404, service.get(`/integration/payers/${phi('nobody')}`));
      await expectAnswer('uploadDocument', 404, service.upload(documents, documentForm()));
      await expectAnswer('listDocuments', 404, service.get(documents));
      await expectAnswer('downloadDocument', 404, service.get(`${documents}/a`));
      await expectAnswer('deleteDocument', 404, service.delete(`${documents}/a`));
    });
    expect(appended).toEqual([line]);
  });

  test('refused uploads are answered as described', async () => {
    const patient = samples.patient();
    const encounter = samples.encounter(patient.id);
    await service.post('/integration/patients', patient);
    await service.post('/integration/encounters', encounter);
    const path = documentsPath(encounter.id);
    const appended = await appendedBy(service, async () => {
      const notPdf = documentForm({ content: Buffer.from('not a PDF') });
      await expectAnswer('uploadDocument', 400, service.upload(path, notPdf));
      await expectAnswer('uploadDocument', 415, service.post(path, {}));
    });
    expect(appended).toEqual([]);
  });

  test('headers that are too large are answered as described', async () => {
    const appended = await appendedBy(service, async () => {
      await expectAnswer('getHealth', 431, service.get('/healthz', { 'x-padding': 'x'.repeat(20_000) }));
    });
    expect(appended).toEqual([]);
  });

  test('the rate limit is answered as described', async () => {
    const appended = await appendedBy(limited, async () => {
      const first = await expectAnswer('getOpenApi', 200, limited.get('/openapi/json'));
      expect(first.headers).toHaveProperty('ratelimit-policy', '"default";q=1;w=60');
      expect(first.headers).toHaveProperty('ratelimit');
      const second = await expectAnswer('listPayers', 429, limited.get('/integration/payers'));
      expect(second.headers).toHaveProperty('ratelimit');
    });
    expect(appended).toEqual([]);
  });
});
