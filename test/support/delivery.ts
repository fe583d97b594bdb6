import { expect } from 'vitest';
import { messageId } from '../../src/modules/webhooks/messages.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import { openWebhooks, type WebhooksTiming } from '../../src/server/openWebhooks.ts';
import type { Clock } from '../../src/storage/rateLimiters.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import type { Client } from './client.ts';
import { readAll } from './events.ts';
import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';
import { soon } from './soon.ts';
import { webhooksPath } from './webhooks.ts';

/** Settings with which messages go to endpoints of the test's own. */
export const openLoopback = { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' };

/** A clock that runs as the system's does; time can pass faster, and somebody may set it. */
export class OffsetClock implements Clock {
  #passed = 0;
  #set = 0;

  now(): number {
    return Date.now() + this.#passed + this.#set;
  }

  elapsed(): number {
    return performance.now() + this.#passed;
  }

  /** So much time passes. */
  pass(ms: number): void {
    this.#passed += ms;
  }

  /** It is set forward, or back, by so much. */
  set(ms: number): void {
    this.#set += ms;
  }
}

/** An instance that delivers webhooks, beside the service. */
export class Delivery {
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(deliver: (signal: AbortSignal) => Promise<void>) {
    this.#ended = deliver(this.#stop.signal);
  }

  static async start({ config }: TestService, timing: WebhooksTiming = {}): Promise<Delivery> {
    return new Delivery(await openWebhooks(config, () => undefined, { schedule: soon, ...timing }));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

/** A webhook as the API shows it. */
export async function showWebhook(client: Client, id: string) {
  const { status, body } = await client.get(`${webhooksPath}/${id}`);
  expect(status).toBe(200);
  return body;
}

/** Waits until everything on the log was delivered to a webhook, and nothing waits. */
export function delivered(client: Client, id: string, timeoutMs?: number): Promise<void> {
  return eventually(async () => {
    const { delivery } = await showWebhook(client, id);
    expect(delivery).toMatchObject({ pending: 0, blocked: 0 });
  }, timeoutMs);
}

/** The ids of the messages that a webhook is to get of a workspace's records, and how many versions each record has. */
export async function expectedMessages(service: TestService, webhookId: string, label = 'clinic') {
  const workspace = service.workspaceId(label);
  const events = (await readAll(service.eventLog)).filter(
    ({ stream, type }) => stream.startsWith(`${workspace}.`) && /^(Document|[A-Z][a-z]+Upserted$)/.test(type),
  );
  const ids = new Set(events.map(({ id }) => messageId(webhookId, id)));
  const versions = new Map<string, number>();
  for (const { stream, revision } of events) versions.set(stream, revision + 1);
  return { ids, versions };
}

/** Runs something with a connection to the state store of a service. */
export async function withStateStore<Result>(
  service: TestService,
  work: (stateStore: StateStore) => Promise<Result>,
): Promise<Result> {
  const stateStore = await openStateStore(service.config.stateUrl);
  try {
    return await work(stateStore);
  } finally {
    await stateStore.close();
  }
}
