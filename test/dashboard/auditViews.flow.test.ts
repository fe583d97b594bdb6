import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserDirectory } from '../../src/principals/users/UserDirectory.ts';
import { onEveryEngine } from '../support/engines.ts';
import { makeUser } from '../support/makeUser.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { Visitor } from '../support/visitor.ts';

onEveryEngine((start) => {
  let service: TestService;
  let users: UserDirectory;
  beforeAll(async () => {
    service = await start();
    users = await UserDirectory.open(service.eventLog);
  });
  afterAll(async () => {
    users.close();
    await service.stop();
  });

  test('the audit trail leaves out what users looked at, and nothing else, where that is asked for', async () => {
    const made = { name: phi('ada@clinic.example'), password: phi('correct horse battery') };
    await makeUser(users, { ...made, role: 'compliance' });
    const visitor = new Visitor(service.url);
    await visitor.signIn(made);
    const root = `/workspaces/${service.workspaceId('clinic')}`;
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      await service.post('/integration/payers', payer);
      await service.get(`/integration/payers/${payer.id}`);
      await visitor.get(`${root}/records/payers/${payer.id}`);
      await visitor.get(`${root}/keys`);
    });
    expect(appended).toContain(`clinic.payer-${payer.id}: PayerUpserted`);
    const whats = async (query: string) => {
      const { text } = await visitor.get(`${root}/audit${query}`);
      return [...text.matchAll(/<th scope="row">([^<]+)/g)].map(([, what]) => what);
    };
    const others = ['Request refused', 'Record read', 'Payer upserted'];
    expect((await whats('')).slice(0, 4)).toEqual([
      'Request refused',
      'Record read',
      'Record read',
      'Payer upserted',
    ]);
    const { text } = await visitor.get(`${root}/audit`);
    // One view of the record's page: a row that opens.
    expect(text).toMatch(
      /<details[^>]*><summary>and 1 more on the same page<\/summary>\s*<ul><li>History read/,
    );
    expect(text.match(/<details class="further">/g)).toHaveLength(1);
    expect((await whats('?without_views=yes')).slice(0, 3)).toEqual(others);
    expect((await whats('?action=record.history')).slice(0, 1)).toEqual(['History read']);
  });
});
