import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Role } from '../../src/modules/auth/users.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { readAll, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let workspace: string;
  const visitors = new Map<Role, { visitor: BrowserlessSession; id: string }>();
  beforeAll(async () => {
    service = await start();
    await service.createKey('clinic');
    workspace = service.workspaceId('clinic');
    for (const role of ['admin', 'compliance', 'viewer'] as const) {
      visitors.set(role, await signedIn(service, role));
    }
  });
  afterAll(() => service.stop());

  const pathOf = (operation: string) => `/reference/operations/${operation}`;

  /** What a page shows of an answer, and what the log took meanwhile, with who it was. */
  const attempt = async (role: Role, operation: string, form: Record<string, string>) => {
    const { visitor, id } = visitors.get(role) as { visitor: BrowserlessSession; id: string };
    await visitor.get(pathOf(operation));
    const before = await service.eventLog.head();
    const { status, text } = await visitor.post(pathOf(operation), { workspace, ...form });
    const events = (await readAll(service.eventLog, before)).filter(
      ({ metadata }) => metadata.principal.id === id,
    );
    const [, answer = ''] = /<section id="answer".*?<pre[^>]*><code>(.*?)<\/code>/s.exec(text) ?? [];
    const [, state] = /Response <span[^>]*>(\d+)/.exec(text) ?? [];
    return {
      status,
      text,
      answered: Number(state),
      answer: answer.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
      appended: events.map(({ type, data }) =>
        type === 'AccessRecorded' ? [data.action, data.code] : [type],
      ),
      principals: events.map(({ metadata }) => metadata.principal.type),
    };
  };

  test('reads as the user, with the same answer, and an entry of the audit trail', async () => {
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    const tried = await attempt('compliance', 'getPayer', { 'path-id': payer.id });
    expect(tried).toMatchObject({ status: 200, answered: 200, appended: [['record.read', undefined]] });
    expect(tried.principals).toEqual(['user']);
    expect(JSON.parse(tried.answer)).toEqual((await service.get(`/integration/payers/${payer.id}`)).body);
    expect(tried.text).toContain(`value="${payer.id}"`);
    expect(tried.text).toContain('Request-Id: <code dir="auto">');
  });

  test('takes queries, reads events, and shows lines of JSON', async () => {
    const list = await attempt('compliance', 'listPayers', { 'query-limit': '1' });
    expect(JSON.parse(list.answer).items).toHaveLength(1);
    const events = await attempt('compliance', 'readEvents', { 'query-limit': '1' });
    expect(JSON.parse(events.answer)).toMatchObject({ specversion: '1.0' });
    expect(events.appended).toEqual([['events.read', undefined]]);
  });

  test('writes as the user who may, once for an Idempotency-Key; a dry run writes nothing', async () => {
    const body = JSON.stringify(samples.payer());
    const dry = await attempt('admin', 'upsertPayer', { body, 'query-dry_run': 'true' });
    expect(JSON.parse(dry.answer)).toMatchObject({ outcome: 'created', dry_run: true });
    expect(dry.appended.flat()).not.toContain('PayerUpserted');
    const form = { body, 'header-Idempotency-Key': phi('key') };
    const first = await attempt('admin', 'upsertPayer', form);
    expect(first).toMatchObject({ answered: 200, appended: [['PayerUpserted']], principals: ['user'] });
    const again = await attempt('admin', 'upsertPayer', form);
    expect(again).toMatchObject({ answer: first.answer, appended: [] });
    expect(again.text).toContain('Idempotent-Replayed: <code dir="auto">true');
    const { id } = JSON.parse(body);
    const patch = { 'path-id': id, body: '{"city":"Omaha"}', 'header-If-Match': '"1"' };
    expect(await attempt('admin', 'patchPayer', patch)).toMatchObject({
      answered: 200,
      appended: [['PayerUpserted']],
    });
    const stale = await attempt('admin', 'patchPayer', patch);
    expect(stale).toMatchObject({ answered: 412, appended: [['request.refused', 'version_conflict']] });
  });

  test('what is refused is shown with its reason and what was sent, and is in the audit trail', async () => {
    const wrong = await attempt('compliance', 'listPayers', { 'query-limit': '0' });
    expect(wrong).toMatchObject({ answered: 400, appended: [['request.refused', 'validation_failed']] });
    expect(JSON.parse(wrong.answer)).toMatchObject({ code: 'validation_failed' });
    expect(wrong.text).toContain('id="query-limit" name="query-limit" type="text" value="0"');
    const nothing = await attempt('compliance', 'getPayer', { 'path-id': '' });
    expect(nothing).toMatchObject({ status: 200, appended: [] });
    expect(nothing.text).toContain('Fill in every part of the path.');
  });

  test('a role tries what it may, and is shown no form for the rest', async () => {
    const { visitor } = visitors.get('compliance') as { visitor: BrowserlessSession };
    expect((await visitor.get(pathOf('upsertPayer'))).text).toContain('Your role cannot try this');
    const body = JSON.stringify(samples.payer());
    const denied = { answered: 403, appended: [['request.refused', 'permission_denied']] };
    expect(await attempt('compliance', 'upsertPayer', { body })).toMatchObject(denied);
    expect(await attempt('viewer', 'listPatients', {})).toMatchObject(denied);
    const events = await attempt('viewer', 'readEvents', { 'query-limit': '1' });
    expect(JSON.parse(events.answer).time).toMatch(/-01-01T00:00:00\.000Z$/);
    const full = await attempt('viewer', 'readEvents', { 'query-view': 'full' });
    expect(full).toMatchObject(denied);
    expect(await attempt('admin', 'uploadDocument', {})).toMatchObject({ status: 403, appended: [] });
    expect(await attempt('admin', 'listPayers', { workspace: 'other' })).toMatchObject({
      status: 404,
      appended: [],
    });
  });

  test('a form without the token does nothing', async () => {
    const { visitor } = visitors.get('admin') as { visitor: BrowserlessSession };
    const before = await service.eventLog.head();
    const answer = await visitor.post(pathOf('upsertPayer'), {
      ...{ workspace, body: JSON.stringify(samples.payer()), csrf_token: '' },
    });
    expect(answer.status).toBe(403);
    expect((await readAll(service.eventLog, before)).map(({ type }) => type)).not.toContain('PayerUpserted');
  });
});
