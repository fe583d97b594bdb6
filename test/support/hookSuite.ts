import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { Client } from './client.ts';
import { Delivery, delivered, expectedMessages, OffsetClock, openLoopback } from './delivery.ts';
import type { StartService } from './engines.ts';
import { eventually } from './eventually.ts';
import { HookEndpoint } from './hookEndpoint.ts';
import { samples } from './samples.ts';
import type { TestService } from './service.ts';
import { createWebhook, webhooksPath } from './webhooks.ts';

export const LONG_MS = 60_000;

export type Payer = ReturnType<typeof samples.payer>;

/** A webhook and its endpoint. */
export interface Hook {
  endpoint: HookEndpoint;
  id: string;
  secret: string;
}

/** What a suite about the delivery of webhooks works with; each of its tests has a workspace of its own. */
export class HookSuite {
  readonly clock = new OffsetClock();
  service!: TestService;
  /** The instance that delivers. */
  delivery!: Delivery;
  /** Has all permissions in the test's workspace. */
  client!: Client;
  #tests = 0;
  #endpoints: HookEndpoint[] = [];
  #made: string[] = [];

  constructor(start: StartService) {
    beforeAll(async () => {
      this.service = await start({ ROLES: 'api,projector', ...openLoopback });
      this.delivery = await Delivery.start(this.service, { clock: this.clock });
    });
    afterAll(async () => {
      await this.delivery.stop();
      await this.service.stop();
    });
    beforeEach(async () => {
      this.#tests += 1;
      const { key } = await this.service.createKey(this.label, ['write', 'read', 'events', 'webhooks']);
      this.client = this.service.as(key);
    });
    afterEach(async () => {
      // The log of the production engines is shared: nobody else is to deliver these.
      for (const id of this.#made.splice(0)) await this.client.delete(`${webhooksPath}/${id}`);
      for (const endpoint of this.#endpoints.splice(0)) await endpoint.down();
    });
  }

  /** Label of the test's workspace. */
  get label(): string {
    return `hooks${this.#tests}`;
  }

  /** An endpoint, with a webhook that sends it everything from the beginning on. */
  async open(settings: object = {}): Promise<Hook> {
    const endpoint = await HookEndpoint.open();
    this.#endpoints.push(endpoint);
    const { id, secret } = await createWebhook(this.client, {
      url: endpoint.url,
      start: 'beginning',
      ...settings,
    });
    this.#made.push(id);
    return { endpoint, id, secret };
  }

  /** Writes versions of payers by turns. */
  async write(payers: Payer[], versions: number): Promise<void> {
    for (let version = 0; version < versions; version += 1) {
      const writing = payers.map((payer) => this.client.post('/integration/payers', payer));
      expect((await Promise.all(writing)).map(({ status }) => status)).toEqual(payers.map(() => 200));
    }
  }

  /** A webhook's attempts, newest first. */
  async attempts(id: string) {
    const { body } = await this.client.get(`${webhooksPath}/${id}/attempts`);
    return body.items;
  }

  async replay(id: string, what: object): Promise<void> {
    expect((await this.client.post(`${webhooksPath}/${id}/replay`, what)).status).toBe(200);
  }

  /** Waits until every event of the workspace was accepted, those of each record in order. */
  async expectAll({ endpoint, id }: Pick<Hook, 'endpoint' | 'id'>): Promise<void> {
    const { ids, versions } = await expectedMessages(this.service, id, this.label);
    await eventually(
      () => expect(new Set(endpoint.accepted.map((message) => message.id))).toEqual(ids),
      LONG_MS,
    );
    const accepted = [...endpoint.versions().values()];
    expect(accepted).toHaveLength(versions.size);
    expect(accepted.filter((seen) => seen.some((version, index) => version !== index + 1))).toEqual([]);
    await delivered(this.client, id, LONG_MS);
  }
}

export const payersOf = (count: number): Payer[] => Array.from({ length: count }, samples.payer);

/** What messages call a payer. */
export const subjectOf = ({ id }: { id: string }): string => `payer/${encodeURIComponent(id)}`;
