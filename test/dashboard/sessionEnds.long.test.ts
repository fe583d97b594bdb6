import { afterAll, beforeAll, expect, test } from 'vitest';
import { sessionsTable } from '../../src/dashboard/http/session.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import type { TestResponse } from '../support/client.ts';
import { BrowserlessSession, readSession } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { makeUser } from '../support/users.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let stateStore: StateStore;
  let users: UserDirectory;
  let form: string;
  let [ada, eve] = [
    { name: '', password: '' },
    { name: '', password: '' },
  ];
  beforeAll(async () => {
    service = await start({ TRUST_PROXY: '1' });
    stateStore = await openStateStore(service.config.stateUrl);
    users = await UserDirectory.open(service.eventLog);
    await service.createKey('clinic');
    [ada, eve] = [await newAdmin('ada'), await newAdmin('eve')];
    form = `/workspaces/${service.workspaceId('clinic')}/keys/new`;
  });
  afterAll(async () => {
    users.close();
    await stateStore.close();
    await service.stop();
  });

  async function newAdmin(name: string) {
    const made = { name: phi(`${name}@clinic.example`), password: phi('correct horse battery') };
    await makeUser(users, { ...made, role: 'admin' });
    return made;
  }

  let lastAddress = 0;
  /** Somebody at an address of his own whose session ended while the page of the form was open. */
  async function lateVisitor(user: { name: string; password: string }): Promise<BrowserlessSession> {
    lastAddress += 1;
    const visitor = new BrowserlessSession(service.url, { 'x-forwarded-for': `192.0.2.${lastAddress}` });
    await visitor.signIn(user);
    await visitor.get(form);
    endSession(visitor);
    return visitor;
  }

  /** As a browser does it when the time is over. */
  const endSession = (visitor: BrowserlessSession) => visitor.cookies.delete('chartledger_session');

  const typed = () => ({ name: phi('Warehouse'), permissions: 'read', recipient: phi('Acme') });
  /** Where an answer leads to, below the dashboard. */
  const target = ({ headers }: TestResponse) => String(headers.location).slice('/dashboard'.length);

  test('a form that is sent too late is filled in again after the sign-in, once', async () => {
    const visitor = await lateVisitor(ada);
    const fields = typed();
    const appended = await appendedBy(service, async () => {
      const sent = await visitor.post(form, { ...fields, confirm_password: ada.password }, `${form}?a=b`);
      expect([sent.status, sent.headers.location]).toEqual([
        303,
        `/dashboard/sign-in?next=${encodeURIComponent(`/dashboard${form}?a=b`)}`,
      ]);
      const page = await visitor.get(target(sent));
      expect(page.text).toContain('Your session has ended, so nothing was changed.');
      const next = /name="next" value="([^"]+)"/.exec(page.text)?.[1];
      const entered = await visitor.post('/sign-in', { ...ada, next: next ?? '' });
      expect(entered.headers.location).toBe(`/dashboard${form}?a=b`);
      const again = await visitor.get(target(entered));
      expect(again.text).toContain('Your entries are back in the form');
      expect(again.text).toContain(`name="name" type="text" value="${fields.name}"`);
      expect(again.text).toContain(`name="recipient" type="text" value="${fields.recipient}"`);
      expect(again.text).toMatch(/value="read" checked/);
      expect(again.text).not.toMatch(/value="write" checked/);
      expect(again.text).not.toContain(ada.password);
      const later = (await visitor.get(form)).text;
      expect(later).not.toContain(fields.name);
      expect(later).not.toContain('Your entries');
    });
    expect(appended).toEqual([]);
  });

  test('boxes that were all unticked stay so', async () => {
    const visitor = await lateVisitor(ada);
    const { name } = typed();
    await visitor.post(form, { name }, form);
    await visitor.signIn(ada);
    const again = (await visitor.get(form)).text;
    expect(again).toContain(`name="name" type="text" value="${name}"`);
    expect(again).not.toMatch(/name="permissions" value="[a-z:]+" checked/);
    expect((await visitor.get(form)).text).toMatch(/value="write" checked/);
  });

  test('a form that was refused before, or is confirmed too late, is filled in again on its page', async () => {
    const page = `/users/${users.findByName(eve.name)?.id}`;
    const visitor = await lateVisitor(ada);
    // The page that refuses a form, or asks for a confirmation, has the address to which the form was sent.
    const sent = await visitor.post(`${page}/role`, { role: 'compliance' }, `${page}/role`);
    expect(target(sent)).toBe(`/sign-in?next=${encodeURIComponent(`/dashboard${page}`)}`);
    await visitor.signIn(ada);
    const again = await visitor.get(page);
    expect(again.text).toContain('Your entries are back in the form');
    expect(again.text).toContain('<option value="compliance" selected>');
  });

  test('a search that is sent too late is in the box of the search, wherever it was typed', async () => {
    const visitor = await lateVisitor(ada);
    const search = `/workspaces/${service.workspaceId('clinic')}/search`;
    const name = phi('Quetzal');
    const sent = await visitor.post(search, { q: name }, form);
    expect(target(sent)).toBe(`/sign-in?next=${encodeURIComponent(`/dashboard${search}`)}`);
    await visitor.signIn(ada);
    expect((await visitor.get(form)).text).not.toContain('Your entries');
    const again = (await visitor.get(search)).text;
    expect(again).toContain('Your entries are back in the form');
    expect(again).toContain(`name="q" type="search" value="${name}"`);
  });

  test('what somebody typed is for nobody else, and no password is kept', async () => {
    const visitor = await lateVisitor(ada);
    const fields = { ...typed(), password: phi('a new password'), present: phi('the present one') };
    await visitor.post(form, fields, form);
    const kept = await readSession(stateStore, visitor.cookies.get('chartledger_session') as string);
    expect(Object.keys(kept?.typedForm?.fields ?? {})).toEqual(['name', 'permissions', 'recipient']);
    await visitor.signIn(eve);
    const { text } = await visitor.get(form);
    expect(text).not.toContain(fields.name);
    expect(text).not.toContain('Your entries');
  });

  test('the state store shows nothing that was typed into a search, or into a form that was sent too late', async () => {
    const search = `/workspaces/${service.workspaceId('clinic')}/search`;
    const [searched, late] = [phi('Quetzal'), phi('Resplendent')];
    const visitor = new BrowserlessSession(service.url, { 'x-forwarded-for': '192.0.2.201' });
    await visitor.signIn(ada);
    await visitor.get(search);
    const found = await visitor.post(search, { q: searched });
    expect((await visitor.get(target(found))).text).toContain(searched);
    await (await lateVisitor(ada)).post(search, { q: late }, `${form}?late=${late}`);
    const rows = await stateStore.page(sessionsTable, { partition: 'sessions', limit: 1_000 });
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${searched}|${late}`));
  });

  test('what is too long is lost, which is said; who never signed in in the browser leaves nothing', async () => {
    const visitor = await lateVisitor(ada);
    await visitor.post(form, { name: 'x'.repeat(9_000) }, form);
    await visitor.signIn(ada);
    expect((await visitor.get(form)).text).toContain('Your entries were too long to keep.');

    const stranger = new BrowserlessSession(service.url, { 'x-forwarded-for': '192.0.2.200' });
    const sent = await stranger.post(form, typed(), form);
    expect([sent.status, sent.headers['set-cookie']]).toEqual([303, undefined]);
  });

  test('a page that stays open prolongs its session, and hears for how long', async () => {
    const visitor = await lateVisitor(ada);
    expect((await visitor.get('/session')).headers.location).toContain('/sign-in');
    await visitor.signIn(ada);
    const { status, text } = await visitor.get('/session');
    expect([status, Number(text)]).toEqual([200, 14 * 60]);
    expect((await visitor.get(form)).text).toContain('data-session-seconds="840"');
  });
});
