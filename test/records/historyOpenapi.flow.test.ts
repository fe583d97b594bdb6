import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalog } from '../../src/domain/records/catalog.ts';
import type { TestResponse } from '../support/client.ts';
import { expectDocumented, fetchDocument, type OpenApi, operationOf } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';
import { sharedService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  let document: OpenApi;
  beforeAll(async () => {
    service = await sharedService();
    document = await fetchDocument(service);
  });
  afterAll(() => service.stop());

  /** Asserts an answer's status, and that the document describes the answer. */
  async function expectAnswer(operationId: string, status: number, path: string): Promise<TestResponse> {
    const answer = await service.get(path);
    expect([operationId, answer.status]).toEqual([operationId, status]);
    expectDocumented(document, operationId, answer);
    return answer;
  }

  const exampleOf = (operationId: string) =>
    operationOf(document, operationId).responses[200].content['application/json'].example;

  /** Asserts that an example is an answer that its operation describes. */
  function expectExample(operationId: string, headers: TestResponse['headers']): void {
    const body = exampleOf(operationId);
    const text = JSON.stringify(body);
    expectDocumented(document, operationId, { status: 200, headers, body, text, bytes: Buffer.from(text) });
  }

  test('histories of records are as described, and the examples are what is answered', async () => {
    for (const { title, plural } of catalog) {
      const { examples } = operationOf(document, `upsert${title}`).requestBody.content['application/json'];
      const { value } = examples.minimal;
      for (let turn = 0; turn < 2; turn++) await service.post(`/integration/${plural}`, value);
      const path = `/integration/${plural}/${value.id}`;
      const operationId = `get${title}History`;
      const { body, headers } = await expectAnswer(operationId, 200, `${path}/history`);
      expectExample(operationId, headers);
      const facts = ({ version, type, outcome, changes }: Record<string, unknown>) => ({
        version,
        type,
        outcome,
        changes,
      });
      expect(exampleOf(operationId).items.map(facts)).toEqual(body.items.map(facts));
      await expectAnswer(operationId, 400, `${path}/history?limit=0`);
      await expectAnswer(operationId, 404, `/integration/${plural}/${phi('nowhere')}/history`);
      await expectAnswer(`get${title}`, 200, `${path}?version=1`);
      await expectAnswer(`get${title}`, 200, `${path}?as_of=2999-01-01`);
      await expectAnswer(`get${title}`, 400, `${path}?version=1&as_of=2999-01-01`);
      await expectAnswer(`get${title}`, 404, `${path}?version=3`);
    }
  });

  test('histories of documents are as described', async () => {
    const encounter = await createEncounter(service);
    const id = phi('document');
    await service.upload(documentsPath(encounter), documentForm({ document_id: id }));
    const path = documentsPath(encounter, id);
    await service.delete(path);
    const { headers } = await expectAnswer('getDocumentHistory', 200, `${path}/history`);
    expectExample('getDocumentHistory', headers);
    await expectAnswer('getDocumentHistory', 400, `${path}/history?page_token=x`);
    await expectAnswer('getDocumentHistory', 404, `${documentsPath(encounter, phi('none'))}/history`);
    await expectAnswer('downloadDocument', 200, `${path}?version=1`);
    await expectAnswer('downloadDocument', 400, `${path}?version=0`);
    await expectAnswer('downloadDocument', 404, `${path}?version=2`);
  });
});
