import { expect } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { decryptSecret } from '../../src/modules/webhooks/secrets.ts';
import { managedKeys } from '../../src/server/keys.ts';

import type { Client, TestResponse } from './client.ts';
import { notePhi, phi } from './phi.ts';
import type { TestService } from './service.ts';

export const webhooksPath = '/integration/webhooks';

/** The path of one webhook. */
export const memberOf = ({ id }: { id: string }) => `${webhooksPath}/${id}`;

/** A URL that leads nowhere; no log may hold it. */
export function hookUrl(): string {
  return `https://billing.invalid/${phi('hook')}`;
}

export function patch(
  client: Client,
  path: string,
  value: unknown,
  more: Record<string, string> = {},
): Promise<TestResponse> {
  const headers = { 'content-type': 'application/json', ...more };
  return client.send(path, { method: 'PATCH', headers, body: JSON.stringify(value) });
}

/** Makes a webhook and gives the answer, which holds its id and secret. */
export async function createWebhook(client: Client, settings: object = {}) {
  const { status, body } = await client.post(webhooksPath, { url: hookUrl(), ...settings });
  expect([status, body.error]).toEqual([200, undefined]);
  notePhi(body.secret);
  return body;
}

/** The secret that an event of a service holds. */
export async function secretIn({ config }: TestService, event: RecordedEvent | undefined): Promise<string> {
  if (event === undefined) throw new Error('there is no such event');
  const { metadata, data } = event;
  const owner = { workspace: metadata.workspace, id: String(data.webhook_id) };
  return decryptSecret(await managedKeys(config).webhookSecrets.load(), owner, String(data.sealed_secret));
}
