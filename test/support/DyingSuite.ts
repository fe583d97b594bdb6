import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { storesOf } from './cli.ts';
import { Client } from './client.ts';
import { LaterClock } from './laterClock.ts';
import { startTestService, type TestService } from './service.ts';
import { node, ServiceProcess } from './serviceProcess.ts';

/** Longer than an idempotency key is held by a process of which nothing is heard. */
const LONG_AFTER_MS = 15_000;

/** What a suite works with that is about processes which die between append and answer. */
export class DyingSuite {
  service!: TestService;
  /** Speaks to a service on the same stores by whose clock some seconds have gone by. */
  later!: Client & { stop(): Promise<void> };
  /** Speaks to a process of the test's own that dies with the first request that bears an idempotency key. */
  dying!: Client;
  #child!: ServiceProcess;

  constructor() {
    beforeAll(async () => {
      this.service = await startTestService();
      const { key } = await this.service.createKey('clinic', ['write', 'read', 'webhooks']);
      const { stop, url } = await this.service.another({}, { clock: new LaterClock(LONG_AFTER_MS) });
      this.later = Object.assign(new Client(url, key), { stop });
    });
    beforeEach(() => this.revive());
    afterEach(() => this.#child.end('SIGKILL'));
    afterAll(async () => {
      await this.later.stop();
      await this.service.stop();
    });
  }

  /** The same key, at the service whose clock is right. */
  get present(): Client {
    return this.service.as(this.later.key);
  }

  /** Starts the process, once more when it died. */
  async revive(): Promise<void> {
    await this.#child?.end('SIGKILL');
    const { config } = this.service;
    this.#child = new ServiceProcess(
      { ...storesOf(config), DATA_DIR: config.dataDir, RATE_LIMIT_PER_MINUTE: '0', NODE_ENV: 'production' },
      { command: [node, 'test/support/dyingService.ts'] },
    );
    this.dying = new Client(await this.#child.url(), this.later.key);
  }
}
