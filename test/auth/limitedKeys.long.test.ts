import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KeyLimits } from '../../src/modules/auth/apiKeys.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, refusalsBy, type TestService } from '../support/service.ts';

const inside = { 'x-forwarded-for': '192.0.2.7' };
const outside = { 'x-forwarded-for': '198.51.100.7' };

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ TRUST_PROXY: '1', RATE_LIMIT_PER_MINUTE: '5' });
  });
  afterAll(() => service.stop());

  const make = (limits: KeyLimits, permissions: Permission[] = ['write', 'read']) =>
    service.keys.createKey(service.workspaceId('clinic'), 'Limited', permissions, {}, limits);
  const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();
  const list = (key: string, headers: Record<string, string> = inside) =>
    service.as(key).get('/integration/payers', headers);
  /** Addresses that nobody else sends from, so that what is counted by the address is not what is tested. */
  let addresses = 0;
  const freshAddress = (network = '192.0.2') => ({ 'x-forwarded-for': `${network}.${++addresses + 20}` });

  test('limits are fields of the key’s event, in one form', async () => {
    const end = ahead(86_400_000);
    const [event] = await changesBy(service, () =>
      make({ expires_at: end, networks: ['192.0.2.9/24', '192.0.2.0/24', '2001:DB8::1'], rate_limit: 600 }),
    );
    expect(event?.type).toBe('ApiKeyCreated');
    expect(event?.data).toMatchObject({
      expires_at: end,
      networks: ['192.0.2.0/24', '2001:db8::1/128'],
      rate_limit: 600,
    });
  });

  test.each<[string, KeyLimits, string]>([
    ['an end in the past', { expires_at: ahead(-1_000) }, 'expires_at must be in the future'],
    ['an end that is no moment', { expires_at: 'soon' }, 'expires_at must be an ISO 8601'],
    ['what is no network', { networks: ['192.0.2.0/24', 'clinic'] }, 'networks.1 must be a network'],
    [
      'too many networks',
      { networks: Array(51).fill('192.0.2.0/24') },
      'networks must have at most 50 networks',
    ],
    ['no requests at all', { rate_limit: 0 }, 'rate_limit must be at least 1'],
    ['half a request', { rate_limit: 1.5 }, 'rate_limit must be'],
  ])('%s is refused', async (_label, limits, message) => {
    const appended = await appendedBy(service, () =>
      expect(make(limits)).rejects.toMatchObject({
        code: 'validation_failed',
        message: expect.stringContaining(message),
      }),
    );
    expect(appended).toEqual([]);
  });

  test('an expired key is refused with 403, which is audited', async () => {
    const lasting = await make({ expires_at: ahead(600_000) });
    expect((await list(lasting.key, freshAddress())).status).toBe(200);
    const { key } = await make({ expires_at: ahead(3_000) });
    let answer = await list(key, freshAddress());
    const refusals = await refusalsBy(service, async () => {
      await eventually(async () => {
        answer = await list(key, freshAddress());
        expect(answer.status).toBe(403);
      });
    });
    expect(answer.body).toMatchObject({ code: 'key_expired', error: 'The API key has expired.' });
    expect(refusals).toEqual([expect.objectContaining({ action: 'request.refused', code: 'key_expired' })]);
  });

  test('a key is taken from its networks alone; elsewhere it is refused without a word of them, which is audited', async () => {
    const { key, id } = await make({ networks: ['192.0.2.0/24', '2001:db8::/32'] });
    expect((await list(key, freshAddress())).status).toBe(200);
    expect((await list(key, { 'x-forwarded-for': '2001:db8:7::1' })).status).toBe(200);
    const payer = samples.payer();
    const refusals = await refusalsBy(service, async () => {
      const appended = await appendedBy(service, async () => {
        const answer = await service.as(key).post('/integration/payers', payer, outside);
        expect(answer).toMatchObject({ status: 403, body: { code: 'address_not_allowed' } });
        expect(JSON.stringify(answer.body)).not.toMatch(/192\.0|2001/);
      });
      expect(appended).toEqual([]);
    });
    expect(refusals).toEqual([
      expect.objectContaining({ code: 'address_not_allowed', route: '/integration/payers', kind: 'payer' }),
    ]);
    // Who sends it from elsewhere is not told how the key stands.
    await service.keys.setKeyState(id, 'deactivated');
    await eventually(async () => expect((await list(key, freshAddress())).body.code).toBe('key_deactivated'));
    expect((await list(key, outside)).body.code).toBe('address_not_allowed');
    await service.keys.setKeyState(id, 'deleted');
    await eventually(async () => expect((await list(key, freshAddress())).status).toBe(401));
    expect((await list(key, { 'x-forwarded-for': '198.51.100.8' })).status).toBe(401);
  });

  describe('a limit of its own', () => {
    const policy = '"key";q=8;w=60';
    /** A key that the service knows of: one that it does not know yet is counted by the address. */
    async function known(limits: KeyLimits = {}) {
      const made = await make({ rate_limit: 8, ...limits });
      await eventually(async () => {
        const { headers } = await list(made.key, freshAddress());
        expect(headers['ratelimit-policy']).toBe(policy);
      });
      return made;
    }
    const address = { 'x-forwarded-for': '203.0.113.7' };
    const statuses = async (count: number, key: string, headers = address) => {
      const seen: number[] = [];
      for (let n = 0; n < count; n++) seen.push((await list(key, headers)).status);
      return seen;
    };

    test('is counted by the key, from every address, and not by the address', async () => {
      const { key } = await known();
      const [other, plain] = [(await known()).key, service.key ?? ''];
      expect((await statuses(6, other)).every((status) => status === 200)).toBe(true);
      expect(await statuses(6, plain)).toEqual([200, 200, 200, 200, 200, 429]);
      expect(await statuses(3, key)).toEqual([200, 200, 200]);
      const answer = await list(key, { 'x-forwarded-for': '203.0.113.8' });
      expect(answer.headers['ratelimit-policy']).toBe(policy);
      const later = await statuses(8, key);
      expect(later.indexOf(429)).toBeGreaterThan(0);
      expect(later.slice(later.indexOf(429)).every((status) => status === 429)).toBe(true);
      const appended = await appendedBy(service, async () => {
        const refused = await service.as(key).post('/integration/payers', samples.payer(), freshAddress());
        expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
        expect(refused.headers['ratelimit-policy']).toBe(policy);
      });
      expect(appended).toEqual([]);
    });

    test('holds only while the key is taken: refused requests are counted by the address', async () => {
      const { key, id } = await known({ networks: ['192.0.2.0/24'] });
      const elsewhere = { 'x-forwarded-for': '203.0.113.20' };
      expect(await statuses(6, key, elsewhere)).toEqual([403, 403, 403, 403, 403, 429]);
      await service.keys.setKeyState(id, 'deactivated');
      await eventually(async () => {
        const { status, headers } = await list(key, freshAddress());
        expect([status, headers['ratelimit-policy']]).toEqual([403, '"default";q=5;w=60']);
      });
    });
  });

  test('a limit is changed later, and taken back: each one event with what changed', async () => {
    const { id, key } = await make({ networks: ['198.51.100.0/24'], rate_limit: 8 });
    const events = await changesBy(service, async () => {
      await service.keys.setLimits(id, { networks: ['192.0.2.1/24'], rate_limit: 8 });
      await service.keys.setLimits(id, { networks: ['192.0.2.0/24'] });
      await eventually(async () => expect((await list(key, freshAddress())).status).toBe(200));
      await service.keys.setLimits(id, { networks: [], rate_limit: null });
    });
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['ApiKeyLimitsSet', { key_id: id, networks: ['192.0.2.0/24'] }],
      ['ApiKeyLimitsSet', { key_id: id, networks: null, rate_limit: null }],
    ]);
    await eventually(async () => expect((await list(key, freshAddress('203.0.113'))).status).toBe(200));
    await service.keys.setKeyState(id, 'deleted');
    await expect(service.keys.setLimits(id, { rate_limit: 1 })).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a replacement has the limits, and lasts as long; the key before it ends no later than it would have', async () => {
    const day = 86_400_000;
    const { id } = await make({ expires_at: ahead(10 * day), networks: ['192.0.2.0/24'], rate_limit: 8 });
    const long = await service.keys.rotateKey(id, 30 * 86_400);
    expect(Math.round((Date.parse(long.previousExpiresAt) - Date.now()) / day)).toBe(10);
    expect(long).toMatchObject({ networks: ['192.0.2.0/24'], rate_limit: 8 });
    expect(Math.round((Date.parse(long.expires_at ?? '') - Date.now()) / day)).toBe(10);
    await expect(service.keys.setLimits(id, { expires_at: null })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('a key that is to last to the end of the calendar is refused all the same once it is replaced', async () => {
    for (const expires_at of ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59-12:00']) {
      const last = '9999-12-31T23:59:59.999Z';
      const { id, expires_at: end } = await make({ expires_at });
      const first = await service.keys.rotateKey(id, 0);
      const second = await service.keys.rotateKey(first.id, 0);
      expect([end, first.expires_at, second.expires_at]).toEqual([last, last, last]);
      expect(Date.parse(second.previousExpiresAt)).toBeLessThanOrEqual(Date.now());
      await eventually(async () => expect((await list(first.key, freshAddress())).status).toBe(403));
    }
  });

  describe('the scope of a kind', () => {
    test('lets a key do that for this kind, and says which permission it lacks for others', async () => {
      const encounter = await createEncounter(service);
      const { key } = await make({ rate_limit: 1_000 }, ['write:payer', 'read:document']);
      const client = service.as(key);
      const payer = samples.payer();
      const appended = await appendedBy(service, async () => {
        expect((await client.post('/integration/payers', payer)).status).toBe(200);
        expect((await client.get(documentsPath(encounter))).status).toBe(200);
      });
      expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
      const refused = await appendedBy(service, async () => {
        for (const [answer, needed] of [
          [await client.get(`/integration/payers/${payer.id}`), "'read' or 'read:payer'"],
          [await client.get('/integration/payers'), "'read' or 'read:payer'"],
          [await client.post('/integration/patients', samples.patient()), "'write' or 'write:patient'"],
          [await client.get(`/integration/encounters/${encounter}/history`), "'read' or 'read:encounter'"],
          [await client.upload(documentsPath(encounter), documentForm()), "'write' or 'write:document'"],
          [await client.get('/events'), "'events' or 'events:limited' or 'events:deidentified'"],
        ] as const) {
          expect(answer).toMatchObject({
            status: 403,
            body: { code: 'permission_denied', error: `The API key lacks the permission ${needed}.` },
          });
        }
      });
      expect(refused).toEqual([]);
    });

    test('stands in place of the whole permission, not beside it', async () => {
      const appended = await appendedBy(service, () =>
        expect(make({}, ['write', 'write:payer'])).rejects.toMatchObject({
          code: 'validation_failed',
          message:
            'The permission write applies to every kind. Choose either write or write:payer, not both.',
        }),
      );
      expect(appended).toEqual([]);
    });
  });
});
