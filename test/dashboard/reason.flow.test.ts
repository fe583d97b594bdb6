import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

const REASON = 'Appeal of claim 2231';
const QUESTION = 'Why do you read records?';

onEmbeddedEngines((start) => {
  let service: TestService;
  let root: string;
  let record: string;
  const patient = { ...samples.patient(), last_name: phi('Featherstonehaugh') };
  beforeAll(async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '1' });
    const workspace = service.workspaceId('clinic');
    root = `/workspaces/${workspace}`;
    record = `${root}/records/patients/${patient.id}`;
    await service
      .as((await service.createKey('clinic', ['write'])).key)
      .post('/integration/patients', patient);
    await service.keys.setReason(workspace, 'required');
  });
  afterAll(() => service.stop());

  const reasonPage = (next: string) =>
    `/dashboard${root}/reason?next=${encodeURIComponent(`/dashboard${next}`)}`;
  const state = (visitor: BrowserlessSession, reason: string, next = record) =>
    visitor.post(reasonPage(next).slice('/dashboard'.length), { read_reason: reason });
  const visitorOf = async (role: 'compliance' | 'viewer') => {
    const { visitor } = await signedIn(service, role);
    await visitor.get('/account');
    return visitor;
  };
  const asks = async (visitor: BrowserlessSession, path: string) => {
    const { status, headers } = await visitor.get(path);
    expect([status, headers.location]).toEqual([303, reasonPage(path)]);
  };

  test('a page that reads asks for the reason once, leads back, and is recorded with it', async () => {
    const visitor = await visitorOf('compliance');
    const before = await accessesBy(service, async () => {
      await eventually(() => asks(visitor, record));
      await asks(visitor, `${root}/records?kind=patients`);
      await asks(visitor, `${root}/audit`);
    });
    expect(before).toEqual([]);
    expect((await visitor.get(root)).status).toBe(200);
    const question = await visitor.get(reasonPage(record).slice('/dashboard'.length));
    expect([question.status, question.text.includes(QUESTION)]).toEqual([200, true]);
    const changed = await appendedBy(service, async () => {
      const stated = await state(visitor, ` ${REASON} `);
      expect([stated.status, stated.headers.location]).toEqual([303, `/dashboard${record}`]);
    });
    expect(changed).toEqual([]);
    const accesses = await accessesBy(service, async () => {
      const shown = await visitor.get(record);
      expect([shown.status, shown.text.includes(patient.last_name)]).toEqual([200, true]);
      expect(shown.text).toMatch(new RegExp(`class="read-reason[^>]*>.*${REASON}.*Change`));
      expect((await visitor.get(`${record}/timeline`)).status).toBe(200);
      expect((await visitor.get(`${root}/events/news?after=0`)).status).toBe(200);
    });
    expect(accesses.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['record.read', 'record.history', 'events.read']),
    );
    for (const { disclosed_to } of accesses) expect(disclosed_to).toEqual({ purpose_statement: REASON });
    await eventually(async () => {
      const { text } = await visitor.get(`${root}/audit?kind=patient&id=${encodeURIComponent(patient.id)}`);
      expect(text).toContain(`<dt>Reason</dt><dd><bdi>${REASON}</bdi>`);
    });
  });

  test('the reason is changed, and ends with the session', async () => {
    const visitor = await visitorOf('compliance');
    await state(visitor, REASON);
    await state(visitor, 'Request 2026-117');
    const [read] = await accessesBy(service, () => visitor.get(record));
    expect(read?.disclosed_to).toEqual({ purpose_statement: 'Request 2026-117' });
    await asks(await visitorOf('compliance'), record);
  });

  test('one that is empty or too long is refused, and stays in its field', async () => {
    const visitor = await visitorOf('compliance');
    for (const reason of [' ', 'x'.repeat(1_001)]) {
      const refused = await state(visitor, reason);
      expect([refused.status, refused.text.includes('must have 1 to 1000 characters')]).toEqual([400, true]);
      expect(refused.text).toContain(`name="read_reason" type="text" value="${reason.trim()}"`);
    }
    await asks(visitor, record);
  });

  test('a file that reads asks for the reason before it begins', async () => {
    const visitor = await visitorOf('compliance');
    for (const path of [
      'readiness/export',
      'changes/export?from=2020-01-01',
      'changes/diff/export?from=2020-01-01',
    ])
      await asks(visitor, `${root}/${path}`);
    await state(visitor, REASON);
    const [first] = await accessesBy(service, () => visitor.get(`${root}/readiness/export`));
    expect(first).toMatchObject({ action: 'readiness.export', disclosed_to: { purpose_statement: REASON } });
  });

  test('a form that reads is sent once more with the reason, and loses nothing', async () => {
    const visitor = await visitorOf('compliance');
    const form = { recipient: 'Nebraska Court', purpose: 'other' };
    const accesses = await accessesBy(service, async () => {
      const asked = await visitor.post(`${record}/print`, form);
      expect([asked.status, asked.text.includes(QUESTION)]).toEqual([403, true]);
      expect(asked.text).toContain('<input type="hidden" name="recipient" value="Nebraska Court">');
      expect(asked.text).not.toContain(patient.last_name);
      const blank = await visitor.post(`${record}/print`, { ...form, read_reason: ' ' });
      expect([blank.status, blank.text.includes('value="Nebraska Court"')]).toEqual([400, true]);
      const shown = await visitor.post(`${record}/print`, { ...form, read_reason: REASON });
      expect([shown.status, shown.text.includes(patient.last_name)]).toEqual([200, true]);
    });
    expect(accesses[0]?.disclosed_to).toEqual({ ...form, purpose_statement: REASON });
  });

  test('the reason for a break-glass is that of what is then read', async () => {
    await service.keys.setBreakGlass(service.workspaceId('clinic'), 'allow');
    const visitor = await visitorOf('viewer');
    await eventually(async () => expect((await visitor.get(record)).text).toContain('with a reason'));
    const accesses = await accessesBy(service, async () => {
      expect((await visitor.post(`${record}/break-glass`, { reason: REASON })).status).toBe(303);
      expect((await visitor.get(record)).status).toBe(200);
    });
    expect(accesses[1]).toMatchObject({ action: 'record.read', disclosed_to: { purpose_statement: REASON } });
  });

  test('another workspace has a reason of its own, and one that requires none takes it all the same', async () => {
    const visitor = await visitorOf('compliance');
    await state(visitor, REASON);
    await service
      .as((await service.createKey('other', ['write'])).key)
      .post('/integration/patients', patient);
    const elsewhere = `/workspaces/${service.workspaceId('other')}`;
    const read = () => accessesBy(service, () => visitor.get(`${elsewhere}/records/patients/${patient.id}`));
    expect((await read())[0]).not.toHaveProperty('disclosed_to');
    await visitor.post(`${elsewhere}/reason`, { read_reason: 'Audit' });
    expect((await read())[0]).toMatchObject({ disclosed_to: { purpose_statement: 'Audit' } });
  });

  test('the reason for one workspace is none for another, whatever that is called', async () => {
    const visitor = await visitorOf('compliance');
    await state(visitor, REASON);
    await service.keys.createKey('constructor', 'Test key', ['read']);
    await service.keys.setReason('constructor', 'required');
    await eventually(async () => {
      const { headers } = await visitor.get('/workspaces/constructor/records?kind=payers');
      expect(headers.location).toMatch(/^\/dashboard\/workspaces\/constructor\/reason\?/);
    });
  });

  test('a form outside of workspaces has no reason', async () => {
    const visitor = await visitorOf('compliance');
    const { status } = await visitor.post('/account/time-zone', { time_zone: '', read_reason: REASON });
    expect(status).toBe(303);
  });

  test('nobody is led to another site', async () => {
    const visitor = await visitorOf('compliance');
    const sent = await visitor.post(`${root}/reason?next=${encodeURIComponent('https://example.com/')}`, {
      read_reason: REASON,
    });
    expect(sent.headers.location).toBe(`/dashboard${root}`);
  });
});
