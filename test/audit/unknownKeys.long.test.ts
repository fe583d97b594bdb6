import { afterAll, beforeAll, expect, test } from 'vitest';
import { UnknownKeyTally } from '../../src/modules/audit/requestLog.ts';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { signedIn } from '../support/dashboard.ts';
import { notePhi, phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, installationEvents, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ TRUST_PROXY: '1' });
  });
  afterAll(() => service.stop());

  const unknownKeys = async (work: () => Promise<unknown>) =>
    (await installationEvents(service, work)).filter(({ data }) => data.action === 'key.unknown');
  const sumOf = (events: { data: { count?: unknown } }[]) =>
    events.reduce((sum, { data }) => sum + Number(data.count), 0);

  test('requests with a key that nobody knows are counted by address, without the key, for administrators', async () => {
    const keys = [generateApiKey(), generateApiKey(), phi('guessed')];
    notePhi(...keys);
    const send = (key: string | undefined, address: string) =>
      service.as(key).post('/integration/payers', samples.payer(), { 'x-forwarded-for': address });
    const counted = await unknownKeys(async () => {
      const appended = await appendedBy(service, async () => {
        for (const key of keys) expect((await send(key, '203.0.113.7')).status).toBe(401);
        expect((await send(keys[0], '2001:db8::7')).status).toBe(401);
        expect((await send(undefined, '203.0.113.7')).status).toBe(401);
      });
      expect(appended).toEqual([]);
      await service.restart();
    });
    expect(counted.map(({ metadata, data }) => [metadata.clientIp, data])).toEqual([
      [
        '203.0.113.7',
        { action: 'key.unknown', outcome: 'refused', code: 'unauthorized', status: 401, count: 3 },
      ],
      [
        '2001:db8::/64',
        { action: 'key.unknown', outcome: 'refused', code: 'unauthorized', status: 401, count: 1 },
      ],
    ]);
    const text = JSON.stringify(counted);
    for (const key of keys) expect(text).not.toContain(key.slice(0, 12));

    const { visitor } = await signedIn(service, 'admin');
    const requests = await visitor.get(`/workspaces/${service.workspaceId('clinic')}/requests`);
    expect(requests.text).toContain('href="/dashboard/audit?action=key.unknown"');
    const trail = await visitor.get('/audit?action=key.unknown');
    expect(trail.text).toMatch(/Unknown API keys refused<[\s\S]*<dt>Times<\/dt><dd>3<[\s\S]*203\.0\.113\.7/);
  });

  test('a flood from many addresses is 21 entries, which count all of it', async () => {
    const tally = new UnknownKeyTally(service.eventLog);
    const counted = await unknownKeys(async () => {
      for (let n = 0; n < 3_000; n++) tally.add(`2001:db8::${n.toString(16)}`);
      for (let n = 0; n < 5; n++) tally.add('2001:db8::1');
      await tally.flush();
      await tally.flush();
    });
    expect(counted).toHaveLength(21);
    expect(sumOf(counted)).toBe(3_005);
    const byAddress = new Map(counted.map(({ metadata, data }) => [metadata.clientIp, data.count]));
    expect(byAddress.get('2001:db8::1')).toBe(6);
    expect(byAddress.get(undefined)).toBe(3_005 - 6 - 19);
  });

  test('what the log does not take is counted on', async () => {
    let isAway = true;
    const log = {
      append: (...args: Parameters<EventLog['append']>) =>
        isAway ? Promise.reject(unavailable('event log')) : service.eventLog.append(...args),
    } as EventLog;
    const tally = new UnknownKeyTally(log);
    const counted = await unknownKeys(async () => {
      tally.add('203.0.113.9');
      await expect(tally.flush()).rejects.toMatchObject({ code: 'unavailable' });
      isAway = false;
      tally.add('203.0.113.9');
      await tally.flush();
    });
    expect(counted.map(({ data }) => data.count)).toEqual([2]);
  });
});
