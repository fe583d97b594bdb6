import type { RecordedEvent } from '../../src/ports/eventLog.ts';
import { UserManager } from '../../src/users/manageUsers.ts';
import { UserDirectory } from '../../src/users/UserDirectory.ts';
import { startDashboard, type TestDashboard } from './dashboard.ts';
import { installationEvents } from './installation.ts';
import { startTestService, type TestService } from './service.ts';
import { Visitor } from './visitor.ts';

/** A service with a dashboard, and what tests of its users need beside. */
export interface UserTests {
  service: TestService;
  dashboard: TestDashboard;
  manager: UserManager;
  /** Somebody at an IP address that nobody had before: sign-ins are limited by it. */
  visitor(): Visitor;
  /** The events that `work` had appended about users and sign-ins. */
  events(work: () => Promise<unknown>): Promise<RecordedEvent[]>;
  stop(): Promise<void>;
}

export async function startUserTests(): Promise<UserTests> {
  const service = await startTestService({ TRUST_PROXY: '1' });
  const dashboard = await startDashboard(service);
  const users = await UserDirectory.open(service.eventLog);
  let lastAddress = 0;
  return {
    service,
    dashboard,
    manager: new UserManager(users, { principal: { type: 'operator', id: 'test' } }),
    visitor() {
      lastAddress += 1;
      return new Visitor(service.url, { 'x-forwarded-for': `192.0.2.${lastAddress}` });
    },
    events: (work) => installationEvents(service, work),
    async stop() {
      users.close();
      await dashboard.stop();
      await service.stop();
    },
  };
}
