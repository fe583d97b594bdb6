import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey, hashApiKey } from '../../src/modules/auth/apiKeys.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { beginUpload, createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  appendedBy,
  lastBodyOf,
  newEvents,
  openConnection,
  rawRequest,
  startTestService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const post = (headers: Record<string, string>, key?: string) =>
    service.as(key).post('/integration/payers', samples.payer(), headers);
  const bearer = (key = '') => ({ authorization: `Bearer ${key}` });

  /** Expects a write with these headers to be refused, and to append nothing. */
  async function expectRefused(headers: Record<string, string>, status: number, code: string) {
    const appended = await appendedBy(service, async () => {
      const answer = await post(headers);
      expect(answer).toMatchObject({ status, body: { error: expect.any(String), code } });
      expect(answer.body.statusCode).toBe(status === 401 ? 401 : undefined);
      expect(answer.headers['www-authenticate']).toBe(
        status === 401 ? 'Bearer realm="chartledger"' : undefined,
      );
    });
    expect(appended).toEqual([]);
  }

  describe('both ways to send a key', () => {
    test.each([
      ['x-api-key', (key: string) => ({ 'x-api-key': key })],
      ['X-API-KEY', (key: string) => ({ 'X-API-KEY': key })],
      ['Authorization: Bearer', (key: string) => bearer(key)],
      ['Authorization: bearer', (key: string) => ({ authorization: `bearer ${key}` })],
      ['Authorization: BEARER with blanks', (key: string) => ({ authorization: `BEARER   ${key}  ` })],
      ['an empty x-api-key beside a Bearer', (key: string) => ({ 'x-api-key': '', ...bearer(key) })],
    ])('%s', async (_label, headers) => {
      const appended = await appendedBy(service, async () => {
        expect((await post(headers(service.key ?? ''))).status).toBe(200);
      });
      expect(appended).toHaveLength(1);
    });

    test('x-api-key wins over Authorization', async () => {
      const wrong = generateApiKey();
      const appended = await appendedBy(service, async () => {
        expect((await post({ 'x-api-key': service.key ?? '', ...bearer(wrong) })).status).toBe(200);
      });
      expect(appended).toHaveLength(1);
      await expectRefused({ 'x-api-key': wrong, ...bearer(service.key) }, 401, 'unauthorized');
    });
  });

  describe('401', () => {
    const key = () => service.key ?? '';
    const typo = () => key().slice(0, 10) + (key()[10] === 'a' ? 'b' : 'a') + key().slice(11);
    test.each([
      ['no credential', () => ({})],
      ['an empty x-api-key', () => ({ 'x-api-key': '' })],
      ['a text that is no key', () => ({ 'x-api-key': 'let-me-in' })],
      ['a key that was never made', () => ({ 'x-api-key': generateApiKey() })],
      ['a key with a typo', () => ({ 'x-api-key': typo() })],
      ['a key cut short', () => ({ 'x-api-key': key().slice(0, -1) })],
      ['a key in the wrong case', () => ({ 'x-api-key': key().toUpperCase() })],
      ['a Bearer without a key', () => ({ authorization: 'Bearer' })],
      ['a wrong Bearer', () => bearer(generateApiKey())],
      ['the key as Basic', () => ({ authorization: `Basic ${Buffer.from(`${key()}:`).toString('base64')}` })],
      ['the key without a scheme', () => ({ authorization: key() })],
      ['the key as a cookie', () => ({ cookie: `x-api-key=${key()}` })],
    ])('%s', (_label, headers) => expectRefused(headers(), 401, 'unauthorized'));

    test('the key in the query', async () => {
      const answer = await service.as(undefined).get(`/integration/payers?x-api-key=${service.key}`);
      expect(answer.status).toBe(401);
    });
  });

  test('a deactivated key is 403, works again when activated, and stays 401 once deleted', async () => {
    const { id, key } = await service.createKey('clinic');
    const headers = { 'x-api-key': key };
    expect((await post(headers)).status).toBe(200);
    await service.keys.setKeyState(id, 'deactivated');
    await eventually(() => expectRefused(headers, 403, 'key_deactivated'));
    await service.keys.setKeyState(id, 'active');
    await eventually(async () => expect((await post(headers)).status).toBe(200));
    await service.keys.setKeyState(id, 'deleted');
    await eventually(() => expectRefused(headers, 401, 'unauthorized'));
    await expect(service.keys.setKeyState(id, 'active')).rejects.toMatchObject({ code: 'conflict' });
    await service.restart();
    await expectRefused(headers, 401, 'unauthorized');
  });

  test('a rotated key works until it expires, then is 403 and says so; its replacement works at once', async () => {
    const { id, key } = await service.createKey('clinic');
    const events = await newEvents(service, async () => {
      const next = await service.keys.rotateKey(id, 3_600);
      expect(next).toMatchObject({ name: 'Test key', permissions: ['write', 'read'] });
      await expect(service.keys.rotateKey(id, 0)).rejects.toMatchObject({ code: 'conflict' });
      const last = await service.keys.rotateKey(next.id, 0);
      await eventually(async () => {
        expect((await service.as(next.key).get('/integration/payers')).status).toBe(403);
      });
      await expectRefused({ 'x-api-key': next.key }, 403, 'key_expired');
      expect((await post({ 'x-api-key': next.key })).body.error).toBe('The API key has expired.');
      expect((await post({ 'x-api-key': key })).status).toBe(200);
      expect((await post({ 'x-api-key': last.key })).status).toBe(200);
      await service.keys.setKeyState(next.id, 'deactivated');
      await expect(service.keys.rotateKey(next.id, 0)).rejects.toMatchObject({ code: 'conflict' });
      await expect(service.keys.rotateKey('key_none', 0)).rejects.toMatchObject({ code: 'not_found' });
      for (const seconds of [-1, Number.NaN, 31 * 86_400]) {
        await expect(service.keys.rotateKey(last.id, seconds)).rejects.toMatchObject({
          code: 'validation_failed',
        });
      }
    });
    const changes = events.filter(({ type }) => type !== 'AccessRecorded');
    expect(changes.map(({ type }) => type)).toEqual([
      ...['ApiKeyRotated', 'ApiKeyRotated', 'PayerUpserted', 'PayerUpserted', 'ApiKeyDeactivated'],
    ]);
    expect(JSON.stringify(events)).not.toContain('clk_');
  });

  test('a key that is both deactivated and of a deactivated workspace is told of the key first', async () => {
    const { id, key } = await service.createKey('closing');
    const other = await service.createKey('closing');
    await service.keys.setWorkspaceState(service.workspaceId('closing'), 'deactivated');
    await eventually(() => expectRefused({ 'x-api-key': key }, 403, 'workspace_deactivated'));
    await service.keys.setKeyState(id, 'deactivated');
    await eventually(() => expectRefused({ 'x-api-key': key }, 403, 'key_deactivated'));
    await expectRefused({ 'x-api-key': other.key }, 403, 'workspace_deactivated');
    await service.keys.setWorkspaceState(service.workspaceId('closing'), 'active');
    await eventually(async () => expect((await post({ 'x-api-key': other.key })).status).toBe(200));
  });

  test('each endpoint asks for its permission', async () => {
    const encounter = await createEncounter(service);
    const [writer, reader, listener] = await Promise.all([
      service.createKey('clinic', ['write']),
      service.createKey('clinic', ['read']),
      service.createKey('clinic', ['events']),
    ]);
    const appended = await appendedBy(service, async () => {
      for (const key of [reader.key, listener.key]) {
        const client = service.as(key);
        for (const answer of [
          await client.post('/integration/payers', samples.payer()),
          await client.upload(documentsPath(encounter), documentForm()),
          await client.delete(documentsPath(encounter, 'document-1')),
        ]) {
          expect(answer).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
        }
      }
      for (const key of [writer.key, listener.key]) {
        for (const path of [
          '/payers',
          '/payers/payer-1',
          '/encounters/a/documents',
          '/encounters/a/documents/b',
        ]) {
          const answer = await service.as(key).get(`/integration${path}`);
          expect(answer).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
        }
      }
    });
    expect(appended).toEqual([]);
    expect((await service.as(reader.key).get('/integration/payers')).status).toBe(200);
    expect((await post({ 'x-api-key': writer.key })).status).toBe(200);
  });

  test('a refusal does not wait for the body', async () => {
    const encounter = await createEncounter(service);
    const { key } = await service.createKey('clinic', ['read']);
    const appended = await appendedBy(service, async () => {
      for (const [client, id, status] of [
        [service.as(undefined), encounter, 401],
        [service.as(generateApiKey()), encounter, 401],
        [service.as(key), encounter, 403],
        [service, phi('nowhere'), 404],
      ] as const) {
        const upload = beginUpload(client, id, 'document-1');
        const [answer] = (await once(upload, 'response')) as [IncomingMessage];
        expect(answer.statusCode).toBe(status);
        upload.destroy();
      }
    });
    expect(appended).toEqual([]);
  });

  test('a body that arrives once its key or workspace is deactivated is refused', async () => {
    const { id, key } = await service.createKey('leaving');
    const workspace = service.workspaceId('leaving');
    const body = JSON.stringify(samples.payer());
    const headers = {
      'x-api-key': key,
      'content-type': 'application/json',
      'content-length': `${body.length}`,
      connection: 'close',
    };
    for (const [path, change, undo, code] of [
      [
        '/integration/payers',
        () => service.keys.setKeyState(id, 'deactivated'),
        () => service.keys.setKeyState(id, 'active'),
        'key_deactivated',
      ],
      [
        '/integration/batch',
        () => service.keys.setWorkspaceState(workspace, 'deactivated'),
        () => service.keys.setWorkspaceState(workspace, 'active'),
        'workspace_deactivated',
      ],
    ] as const) {
      await eventually(async () => expect((await post({ 'x-api-key': key })).status).toBe(200));
      const type = path.endsWith('batch') ? { 'content-type': 'application/x-ndjson' } : {};
      const waiting = openConnection(
        service.url,
        rawRequest('POST', path, { ...headers, ...type, expect: '100-continue' }),
      );
      // It is admitted.
      await eventually(() => expect(waiting.received()).toContain('100 Continue'));
      await change();
      await eventually(() => expectRefused({ 'x-api-key': key }, 403, code));
      const appended = await appendedBy(service, async () => {
        waiting.socket.write(body);
        const received = await waiting.closed();
        expect(statusesOf(received)).toEqual([100, 403]);
        expect(lastBodyOf(received)).toMatchObject({ code });
      });
      expect(appended).toEqual([]);
      await undo();
    }
  });

  test('a workspace sees only its own records', async () => {
    const { key } = await service.createKey('neighbour');
    const neighbour = service.as(key);
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    expect((await neighbour.get(`/integration/payers/${payer.id}`)).status).toBe(404);
    expect((await neighbour.get('/integration/payers')).body.items).toEqual([]);
    const appended = await appendedBy(service, async () => {
      const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
      const refused = await neighbour.post('/integration/patients', patient);
      expect(refused).toMatchObject({ status: 400, body: { code: 'reference_not_found' } });
      const own = await neighbour.post('/integration/payers', { ...payer, name: 'Other' });
      expect(own.body).toMatchObject({ outcome: 'created', version: 1 });
    });
    expect(appended).toEqual([`neighbour.payer-${payer.id}: PayerUpserted`]);
    expect((await service.get(`/integration/payers/${payer.id}`)).body.record.name).toBe(payer.name);
  });

  test('a key made a moment ago works at once', async () => {
    const { key } = await service.createKey('clinic');
    expect((await post({ 'x-api-key': key })).status).toBe(200);
  });
});

test('no file of the embedded stores holds a key: only its SHA-256', async () => {
  const service = await startTestService();
  const { key } = await service.createKey('clinic');
  await service.as(key).post('/integration/payers', samples.payer());
  const folder = dirname(service.config.eventLogUrl.slice('sqlite:'.length));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  expect(files.some((bytes) => bytes.includes(hashApiKey(key)))).toBe(true);
  for (const raw of [key, service.key ?? '']) {
    expect(files.some((bytes) => bytes.includes(raw.slice(4, 36)))).toBe(false);
  }
  await service.stop();
});
