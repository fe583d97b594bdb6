import { afterAll, beforeAll } from 'vitest';
import type { Permission } from '../../src/modules/auth/apiKeys.ts';
import type { CreatedKey } from '../../src/modules/auth/keyManager.ts';

import type { Client } from './client.ts';
import type { StartService } from './engines.ts';
import type { TestService } from './service.ts';

/** What a suite about the settings of webhooks works with: a service that sends nothing, and a key for its webhooks. */
export class WebhookSuite {
  service!: TestService;
  maker!: CreatedKey;
  /** Has the permissions `webhooks` and those that the suite asks for. */
  client!: Client;

  constructor(start: StartService, ...permissions: Permission[]) {
    beforeAll(async () => {
      this.service = await start({ ROLES: 'api,projector' });
      this.maker = await this.service.createKey('clinic', ['webhooks', ...permissions]);
      this.client = this.service.as(this.maker.key);
    });
    afterAll(() => this.service.stop());
  }

  /** A client with a key of the suite's workspace. */
  async clientWith(...permissions: Permission[]): Promise<Client> {
    return this.service.as((await this.service.createKey('clinic', permissions)).key);
  }
}
