import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { BrowserlessSession } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { makeUser } from '../support/users.ts';

onEveryEngine((start) => {
  let service: TestService;
  let users: UserDirectory;
  beforeAll(async () => {
    service = await start({ REQUEST_THREADS: '2' });
    users = await UserDirectory.open(service.eventLog);
  });
  afterAll(async () => {
    users.close();
    await service.stop();
  });

  test('a page shows the workspaces, keys and users that other processes made a moment ago', async () => {
    const create = async () => {
      const made = { name: phi('ada@clinic.example'), password: phi('correct horse battery') };
      await makeUser(users, { ...made, role: 'admin' });
      return made;
    };
    const visitor = new BrowserlessSession(service.url);
    await visitor.signIn(await create());
    const appended = await appendedBy(service, async () => {
      // Each of several, since a directory that follows by itself may be fast by chance.
      for (const label of ['dental', 'eyes', 'lungs', 'heart', 'skin']) {
        const { id } = await service.createKey(label);
        const { status, text } = await visitor.get(`/workspaces/${service.workspaceId(label)}/keys`);
        expect([label, status]).toEqual([label, 200]);
        expect(text).toContain(id);
        const { name } = await create();
        expect((await visitor.get('/users')).text).toContain(name);
      }
    });
    expect(appended).toHaveLength(10);
  });
});
