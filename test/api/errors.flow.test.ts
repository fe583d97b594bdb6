import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusOf } from '../../src/api/server/answer.ts';
import type { ErrorCode } from '../../src/platform/errors.ts';

import type { TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

onEmbeddedEngines((start) => {
  let service: TestService;
  let limited: TestService;
  const keys = { reader: '', deactivated: '', closed: '', expired: '', elsewhere: '' };
  beforeAll(async () => {
    [service, limited] = await Promise.all([start(), start({ RATE_LIMIT_PER_MINUTE: '1' })]);
    keys.reader = (await service.createKey('clinic', ['read'])).key;
    const deactivated = await service.createKey('clinic');
    keys.deactivated = deactivated.key;
    const expired = await service.createKey('clinic');
    keys.expired = expired.key;
    await service.keys.rotateKey(expired.id, 0);
    const networks = ['192.0.2.0/24'];
    const clinic = service.workspaceId('clinic');
    keys.elsewhere = (await service.keys.createKey(clinic, 'Elsewhere', ['read'], {}, { networks })).key;
    keys.closed = (await service.createKey('closed')).key;
    await service.keys.setKeyState(deactivated.id, 'deactivated');
    await service.keys.setWorkspaceState(service.workspaceId('closed'), 'deactivated');
    await limited.get('/integration/payers/none');
    await eventually(async () => {
      for (const key of [keys.deactivated, keys.closed, keys.expired, keys.elsewhere]) {
        expect((await service.as(key).get('/integration/payers')).status).toBe(403);
      }
    });
  });
  afterAll(() => Promise.all([service.stop(), limited.stop()]));

  const raw = (path: string, body: string, type = 'application/json', method = 'POST') =>
    service.send(path, { method, body, headers: { 'content-type': type } });
  const payers = '/integration/payers';

  const provoked: [string, ErrorCode, () => Promise<TestResponse>][] = [
    ['a missing field', 'validation_failed', () => service.post(payers, { id: phi('payer') })],
    ['a bad limit', 'validation_failed', () => service.get(`${payers}?limit=many`)],
    ['a bad page token', 'validation_failed', () => service.get(`${payers}?page_token=x`)],
    ['a path that is no percent-encoding', 'validation_failed', () => service.get(`${payers}/%E0%A4%A`)],
    [
      'a bad condition',
      'validation_failed',
      () => service.post(payers, samples.payer(), { 'if-match': 'x' }),
    ],
    ['broken JSON', 'malformed_body', () => raw(payers, '{"id":')],
    [
      'a missing reference',
      'reference_not_found',
      () => service.post('/integration/encounters', samples.encounter(phi('patient'))),
    ],
    ['no key', 'unauthorized', () => service.as(undefined).get(payers)],
    ['a wrong key', 'unauthorized', () => service.as('clk_wrong').get(payers)],
    ['a deactivated key', 'key_deactivated', () => service.as(keys.deactivated).get(payers)],
    ['an expired key', 'key_expired', () => service.as(keys.expired).get(payers)],
    ['a key from elsewhere', 'address_not_allowed', () => service.as(keys.elsewhere).get(payers)],
    ['a deactivated workspace', 'workspace_deactivated', () => service.as(keys.closed).get(payers)],
    [
      'a missing permission',
      'permission_denied',
      () => service.as(keys.reader).post(payers, samples.payer()),
    ],
    ['an unknown record', 'not_found', () => service.get(`${payers}/${phi('payer')}`)],
    ['an unknown path', 'not_found', () => service.get('/integration/claims')],
    ['a wrong method', 'method_not_allowed', () => raw(payers, '{}', 'application/json', 'PUT')],
    [
      'a version that moved on',
      'version_conflict',
      () => service.post(payers, samples.payer(), { 'if-match': '"7"' }),
    ],
    ['a body of 2 MB', 'payload_too_large', () => raw(payers, JSON.stringify('x'.repeat(2_000_000)))],
    ['XML', 'unsupported_media_type', () => raw(payers, '<payer/>', 'application/xml')],
    ['too many requests', 'rate_limited', () => limited.get(payers)],
  ];
  test.each(provoked)('%s is told as %s', async (_label, code, provoke) => {
    let answer: TestResponse | undefined;
    const appended = await appendedBy(service, async () => {
      answer = await provoke();
    });
    expect(appended).toEqual([]);
    expect(answer?.status).toBe(statusOf[code]);
    expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer?.body).toMatchObject({ error: expect.stringMatching(/\S/), code });
    expect(answer?.body.requestId).toMatch(UUID);
    expect(answer?.headers['request-id']).toBe(answer?.body.requestId);
    const known = ['error', 'code', 'requestId', 'details', 'statusCode', 'retryAfter'];
    expect(Object.keys(answer?.body).filter((field) => !known.includes(field))).toEqual([]);
  });

  test('a success has a request id too, and every request one of its own', async () => {
    const answers = await Promise.all([service.get(payers), service.get(payers), service.get('/healthz')]);
    const ids = answers.map(({ headers }) => headers['request-id']);
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(3);
  });

  test('the event carries the request id that the caller was told', async () => {
    const payer = samples.payer();
    const answer = await service.post(payers, payer);
    const [event] = await service.eventLog.readStream(`${service.workspaceId('clinic')}.payer-${payer.id}`, {
      limit: 1,
    });
    expect(event?.metadata.requestId).toBe(answer.headers['request-id']);
  });

  test.each([
    ['PATCH', payers, ['GET', 'HEAD', 'POST']],
    ['DELETE', '/healthz', ['GET', 'HEAD']],
    ['PUT', documentsPath('e', 'd'), ['DELETE', 'GET', 'HEAD']],
  ])('%s %s is answered with the methods that the path takes', async (method, path, allowed) => {
    const { allow } = (await service.send(path, { method })).headers;
    expect(String(allow).split(', ').sort()).toEqual(allowed);
  });

  describe('a rejected value is not in the answer', () => {
    const value = phi('Rejected');
    const encounter = () => createEncounter(service);
    test.each<[string, () => Promise<TestResponse>]>([
      ['a gender', () => service.post('/integration/patients', { ...samples.patient(), gender: value })],
      ['a date', () => service.post('/integration/patients', { ...samples.patient(), date_of_birth: value })],
      ['an SSN', () => service.post('/integration/patients', { ...samples.patient(), ssn_last4: value })],
      ['a state', () => service.post('/integration/patients', { ...samples.patient(), state: value })],
      ['an NPI', () => service.post('/integration/providers', { ...samples.provider(), npi: value })],
      ['broken JSON', () => raw(payers, `{"id": ${value}`)],
      ['a limit', () => service.get(`${payers}?limit=${value}`)],
      ['a page token', () => service.get(`${payers}?page_token=${value}`)],
      [
        'a category',
        async () => service.upload(documentsPath(await encounter()), documentForm({ category: value })),
      ],
      [
        'a filename',
        async () => service.upload(documentsPath(await encounter()), documentForm({ filename: value })),
      ],
      ['a content type', () => raw(payers, '{}', `text/${value}`)],
      ['an id', () => service.get(`${payers}/${value}`)],
      ['a path', () => service.get(`/${value}`)],
      ['a key', () => service.as(value).get(payers)],
      ['a version', () => service.post(payers, samples.payer(), { 'if-match': value })],
      ['a version to be absent', () => service.post(payers, samples.payer(), { 'if-none-match': value })],
      ['an idempotency key', () => service.post(payers, samples.payer(), { 'idempotency-key': `${value}é` })],
      ['a position', () => service.get(`/events?after=${value}`)],
      ['a position in a header', () => service.get('/events', { 'last-event-id': value })],
      ['a moment', () => service.get(`${payers}/x?as_of=${value}`)],
      ['a search for a kind', () => service.post('/integration/search', { q: 'x', kind: value })],
      ['a page of a search', () => service.post('/integration/search', { q: 'x', page_token: value })],
      ['a batch that is no array', () => raw('/integration/batch', `{"id": "${value}"}`)],
      ['a day of the worklist', () => service.get(`/integration/readiness?from=${value}`)],
      ['a path with a broken escape', () => service.get(`${payers}/${value}%`)],
    ])('%s', async (_label, provoke) => {
      const answer = await provoke();
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(answer.text + JSON.stringify(answer.headers)).not.toContain(value);
      if (answer.body.code !== 'validation_failed') return;
      expect(answer.body.details.length).toBeGreaterThan(0);
      for (const detail of answer.body.details) {
        expect(detail).toEqual({ field: expect.any(String), message: expect.stringMatching(/\S/) });
      }
    });
  });
});
