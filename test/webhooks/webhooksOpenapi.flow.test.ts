import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { feedEventTypes } from '../../src/modules/eventStream/cloudEvents.ts';
import type { Client, TestResponse } from '../support/client.ts';
import {
  bodySchema,
  expectDocumented,
  fetchDocument,
  type OpenApi,
  operationOf,
  operationsOf,
} from '../support/openapi.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { hookUrl, patch, webhooksPath } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let client: Client;
  let document: OpenApi;
  beforeAll(async () => {
    service = await start({ ROLES: 'api,projector' });
    client = service.as((await service.createKey('clinic', ['webhooks'])).key);
    document = await fetchDocument(client);
  });
  afterAll(() => service.stop());

  /** Asserts an answer's status, and that the document describes the answer. */
  async function expectAnswer(operationId: string, status: number, sending: Promise<TestResponse>) {
    const answer = await sending;
    expect([operationId, answer.status]).toEqual([operationId, status]);
    expectDocumented(document, operationId, answer);
    return answer;
  }

  const requestsOf = (operationId: string): object[] =>
    Object.values<{ value: object }>(
      operationOf(document, operationId).requestBody.content['application/json'].examples,
    ).map(({ value }) => value);

  test('every example of a request is accepted, and the answers are as described', async () => {
    const expected: string[] = [];
    const appended = await appendedBy(service, async () => {
      let id = '';
      for (const body of requestsOf('createWebhook')) {
        const made = await expectAnswer('createWebhook', 200, client.post(webhooksPath, body));
        id = made.body.id;
        notePhi(made.body.secret);
        expected.push('WebhookCreated');
      }
      const path = `${webhooksPath}/${id}`;
      await expectAnswer('listWebhooks', 200, client.get(webhooksPath));
      await expectAnswer('getWebhook', 200, client.get(path));
      await patch(client, path, { state: 'disabled' });
      await expectAnswer('pingWebhook', 409, client.post(`${path}/ping`, {}));
      await expectAnswer('replayWebhook', 409, client.post(`${path}/replay`, { failed: true }));
      expected.push('WebhookDisabled');
      for (const body of requestsOf('updateWebhook')) {
        await expectAnswer('updateWebhook', 200, patch(client, path, body));
        expected.push('state' in body ? 'WebhookEnabled' : 'WebhookUpdated');
      }
      for (const body of requestsOf('rotateWebhookSecret')) {
        const rotated = client.post(`${path}/secret/rotate`, body);
        notePhi((await expectAnswer('rotateWebhookSecret', 200, rotated)).body.secret);
        expected.push('WebhookSecretRotated');
      }
      await expectAnswer('pingWebhook', 200, client.send(`${path}/ping`, { method: 'POST' }));
      expected.push('WebhookPinged');
      for (const body of requestsOf('replayWebhook')) {
        await expectAnswer('replayWebhook', 200, client.post(`${path}/replay`, body));
        expected.push('WebhookReplayRequested');
      }
      await expectAnswer('listWebhookAttempts', 200, client.get(`${path}/attempts`));
      await expectAnswer('deleteWebhook', 200, client.delete(path));
      expected.push('WebhookDeleted');
    });
    expect(appended).toEqual(expected.map((type) => `webhooks: ${type}`));
  });

  test('refused requests are answered as described', async () => {
    const nobody = `${webhooksPath}/wh_0000000000000000`;
    const text = { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } };
    const appended = await appendedBy(service, async () => {
      await expectAnswer('createWebhook', 400, client.post(webhooksPath, { url: 'http://x.invalid/' }));
      await expectAnswer('createWebhook', 403, service.post(webhooksPath, { url: hookUrl() }));
      await expectAnswer(
        'createWebhook',
        403,
        client.post(webhooksPath, { url: hookUrl(), payload: 'full' }),
      );
      await expectAnswer('createWebhook', 415, client.send(webhooksPath, text));
      await expectAnswer('listWebhooks', 400, client.get(`${webhooksPath}?limit=x`));
      await expectAnswer('getWebhook', 404, client.get(nobody));
      await expectAnswer('getWebhook', 400, client.get(`${webhooksPath}/%zz`));
      await expectAnswer('updateWebhook', 404, patch(client, nobody, {}));
      await expectAnswer('deleteWebhook', 404, client.delete(nobody));
      await expectAnswer('rotateWebhookSecret', 404, client.post(`${nobody}/secret/rotate`, {}));
      await expectAnswer('pingWebhook', 404, client.post(`${nobody}/ping`, {}));
      await expectAnswer('replayWebhook', 404, client.post(`${nobody}/replay`, { failed: true }));
      await expectAnswer('listWebhookAttempts', 404, client.get(`${nobody}/attempts`));
      await expectAnswer('listWebhookAttempts', 400, client.get(`${nobody}/attempts?limit=0`));
    });
    expect(appended).toEqual([]);
  });

  test('the examples of answers are what the operations describe', async () => {
    const { headers } = await client.get(webhooksPath);
    const operations = operationsOf(document).filter(
      ({ operation }) => operation['x-permission'] === 'webhooks',
    );
    expect(operations).toHaveLength(10);
    for (const { operation } of operations) {
      const body = operation.responses[200].content['application/json'].example;
      const text = JSON.stringify(body);
      const answer = { status: 200, headers, body, text, bytes: Buffer.from(text) };
      expectDocumented(document, operation.operationId, answer);
    }
  });

  describe('the messages that the document lists', () => {
    test('are those of every type of event, and the ping', () => {
      const types = feedEventTypes.map(({ type }) => type);
      expect(Object.keys(document.webhooks).sort()).toEqual([...types, 'chartledger.webhook.ping.v1'].sort());
      for (const { post } of Object.values<OpenApi>(document.webhooks)) {
        const names = post.parameters.map(({ name }: { name: string }) => name);
        expect(names).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature']);
        expect(post.security).toEqual([]);
      }
    });

    test('have examples of every payload, as their schemas describe them', () => {
      for (const [type, { post }] of Object.entries<OpenApi>(document.webhooks)) {
        const { schema, examples } = post.requestBody.content['application/cloudevents+json'];
        const payloads = type.includes('ping') ? ['ping'] : ['reference', 'full', 'limited', 'deidentified'];
        expect(Object.keys(examples)).toEqual(payloads);
        for (const { value } of Object.values<{ value: object }>(examples)) {
          expect(value).toMatchObject({ specversion: '1.0', type });
          const { error } = bodySchema(document, schema).safeParse(value);
          expect([type, error?.issues ?? []]).toEqual([type, []]);
        }
        const stray = { ...examples[payloads[0] as string].value, data: { ssn: '078-05-1120' } };
        expect(bodySchema(document, schema).safeParse(stray).success).toBe(false);
      }
    });
  });
});
