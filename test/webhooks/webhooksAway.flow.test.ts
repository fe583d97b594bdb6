import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { Client } from '../support/client.ts';
import {
  appendedBy,
  type Faults,
  startFaultyApp,
  startTestService,
  type TestService,
} from '../support/service.ts';
import { createWebhook, hookUrl, patch, webhooksPath } from '../support/webhooks.ts';

let service: TestService;
let key: string;
beforeAll(async () => {
  service = await startTestService({ ROLES: 'api,projector' });
  ({ key } = await service.createKey('clinic', ['webhooks']));
});
afterAll(() => service.stop());

const away = (what: string) => () => Promise.reject(unavailable(what));

/** Runs `work` against an interface whose stores have faults. */
async function withFaults(faults: Faults, work: (client: Client) => Promise<void>): Promise<void> {
  const app = await startFaultyApp(service, faults);
  const client = service.as(key);
  client.url = app.url;
  try {
    await work(client);
  } finally {
    await app.stop();
  }
}

test('without the event log no webhook is made, and nothing says that it was', async () => {
  const appended = await appendedBy(service, () =>
    withFaults({ eventLog: { head: away('event log') } }, async (client) => {
      const { status, body, headers } = await client.post(webhooksPath, { url: hookUrl() });
      expect([status, body.code]).toEqual([503, 'unavailable']);
      expect(headers).toHaveProperty('retry-after');
    }),
  );
  expect(appended).toEqual([]);
});

test('without the state store webhooks are changed, but their delivery is not told', async () => {
  const path = `${webhooksPath}/${(await createWebhook(service.as(key))).id}`;
  const appended = await appendedBy(service, () =>
    withFaults({ stateStore: { load: away('state store') } }, async (client) => {
      expect((await patch(client, path, { state: 'disabled' })).status).toBe(200);
      expect((await client.get(path)).status).toBe(503);
      expect((await client.get(webhooksPath)).status).toBe(503);
      expect((await client.delete(path)).status).toBe(200);
    }),
  );
  expect(appended).toEqual(['webhooks: WebhookDisabled', 'webhooks: WebhookDeleted']);
});
