import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { UserLinks, UserManager } from '../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';

import { startDashboard, type TestDashboard } from './dashboard.ts';
import { installationEvents } from './installation.ts';
import { startTestService, type TestService } from './service.ts';
import { Visitor } from './visitor.ts';

/** A service with a dashboard, and what tests of its users need beside. */
export interface UserTests {
  service: TestService;
  dashboard: TestDashboard;
  users: UserDirectory;
  manager: UserManager;
  links: UserLinks;
  /** Somebody at an IP address that nobody had before: sign-ins are limited by it. */
  visitor(url?: string): Visitor;
  /** The events that `work` had appended about users and sign-ins. */
  events(work: () => Promise<unknown>): Promise<RecordedEvent[]>;
  stop(): Promise<void>;
}

export async function startUserTests(env: Record<string, string> = {}): Promise<UserTests> {
  const service = await startTestService({ TRUST_PROXY: '1', ...env });
  const dashboard = await startDashboard(service);
  const users = await UserDirectory.open(service.eventLog);
  const actor = { principal: { type: 'operator', id: 'test' } } as const;
  let lastAddress = 0;
  return {
    service,
    dashboard,
    users,
    manager: new UserManager(users, actor),
    links: new UserLinks(users, actor),
    visitor(url = service.url) {
      lastAddress += 1;
      return new Visitor(url, { 'x-forwarded-for': `192.0.2.${lastAddress}` });
    },
    events: (work) => installationEvents(service, work),
    async stop() {
      users.close();
      await dashboard.stop();
      await service.stop();
    },
  };
}
