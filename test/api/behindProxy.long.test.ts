import { afterEach, expect, test } from 'vitest';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  afterEach(() => service.stop());

  /** The statuses of so many reads that a proxy passes on, one after another. */
  async function statuses(count: number, headers: Record<string, string> = {}) {
    const seen: number[] = [];
    for (let n = 0; n < count; n++)
      seen.push((await service.get('/integration/payers/none', headers)).status);
    return seen;
  }
  const from = (forwarded: string) => ({ 'x-forwarded-for': forwarded });
  const limit = (trustProxy: string) =>
    start({ ROLES: 'api', RATE_LIMIT_PER_MINUTE: '2', TRUST_PROXY: trustProxy });

  test('X-Forwarded-For is not believed unless TRUST_PROXY says so', async () => {
    service = await limit('');
    expect(await statuses(2, from('203.0.113.1'))).toEqual([404, 404]);
    expect(await statuses(1, from('203.0.113.2'))).toEqual([429]);
  });

  test.each(['1', 'loopback', '127.0.0.0/8'])(
    'with TRUST_PROXY=%s clients are counted apart, by what the proxy says',
    async (trusted) => {
      service = await limit(trusted);
      expect(await statuses(3, from('203.0.113.1'))).toEqual([404, 404, 429]);
      expect(await statuses(3, from('203.0.113.2'))).toEqual([404, 404, 429]);
      expect(await statuses(3, from('2001:db8::1'))).toEqual([404, 404, 429]);
      expect(await statuses(3)).toEqual([404, 404, 429]);
    },
  );

  test('the addresses of one IPv6 /64 are counted together, with known and unknown keys', async () => {
    service = await limit('1');
    expect(await statuses(1, from('2001:db8:0:1::1'))).toEqual([404]);
    const unknown = service.as(generateApiKey());
    const refused = await unknown.get('/integration/payers/none', from('2001:db8:0:1:ffff::2'));
    expect(refused.status).toBe(401);
    expect(await statuses(1, from('2001:db8:0:1:ffff:ffff:ffff:3'))).toEqual([429]);
    expect(await statuses(1, from('2001:db8:0:2::1'))).toEqual([404]);
  });

  test('what a client itself wrote on the left is not believed', async () => {
    service = await limit('1');
    expect(await statuses(2, from('198.51.100.1, 203.0.113.1'))).toEqual([404, 404]);
    expect(await statuses(1, from('198.51.100.2, 203.0.113.1'))).toEqual([429]);
  });

  test.each([
    ['nonsense', '127.0.0.1'],
    ['<b>name</b>, 203.0.113.1', '203.0.113.1'],
    ['fe80::1%nonsense', '127.0.0.1'],
    ['999.1.1.1', '127.0.0.1'],
  ])('what is no address is not taken for one: %s', async (forwarded, address) => {
    service = await limit('1');
    const payer = samples.payer();
    await service.post('/integration/payers', payer, from(forwarded));
    const stream = `${service.workspaceId('clinic')}.payer-${payer.id}`;
    const [event] = await service.eventLog.readStream(stream, { limit: 1 });
    expect(event?.metadata.clientIp).toBe(address);
  });

  test('the address is what the event tells', async () => {
    service = await limit('1');
    const payer = samples.payer();
    await service.post('/integration/payers', payer, from('198.51.100.1, 203.0.113.1'));
    const stream = `${service.workspaceId('clinic')}.payer-${payer.id}`;
    const [event] = await service.eventLog.readStream(stream, { limit: 1 });
    expect(event?.metadata.clientIp).toBe('203.0.113.1');
  });
});
