import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { inShort, installationEvents, newEvents, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  beforeAll(async () => {
    service = await start();
    await service.createKey('clinic');
    ({ visitor } = await signedIn(service, 'admin'));
    await visitor.get('/account');
  });
  afterAll(() => service.stop());

  const choose = (time_zone: string) => visitor.post('/account/time-zone', { time_zone });
  const own = /<time datetime="[^"]+Z" title="[^"]+Z">\w{3} \d+, \d{4}, \d\d:\d\d GMT\+9:30</;

  test('a user chooses a time zone, in which every page shows moments; the exact one in UTC shows on hovering', async () => {
    expect((await visitor.get('/account')).text).not.toMatch(own);
    const appended = await installationEvents(service, async () => {
      expect((await choose('Australia/Darwin')).status).toBe(303);
      const { text } = await visitor.get('/account');
      expect(text).toMatch(own);
      expect(text).toMatch(/value="Australia\/Darwin" selected/);
      const audit = await visitor.get(`/workspaces/${service.workspaceId('clinic')}/audit`);
      const [, since] = /from=([^"]+)">today \(Australia\/Darwin\)/.exec(audit.text) ?? [];
      // Midnight there.
      expect(decodeURIComponent(since ?? '')).toMatch(/T14:30:00\.000Z$/);
      await choose('');
      expect((await visitor.get('/account')).text).not.toMatch(own);
    });
    expect(inShort(appended)).toEqual(['UserTimeZoneSet', 'UserTimeZoneSet']);
    expect(appended.map(({ data }) => data.time_zone)).toEqual(['Australia/Darwin', null]);
  });

  test.each(['audit', 'requests'])('times typed above the list of %s are in that zone', async (page) => {
    await choose('Australia/Darwin');
    const path = `/workspaces/${service.workspaceId('clinic')}/${page}`;
    const typed = new URLSearchParams({ from: '2999-01-02T09:00:00', time_zone: 'Australia/Darwin' });
    const { text } = await visitor.get(`${path}?${typed.toString()}`);
    expect(text).toContain('From (Australia/Darwin)');
    expect(text).toContain('name="time_zone" value="Australia/Darwin"');
    expect(text).toMatch(/name="from" type="datetime-local" value="2999-01-02T09:00:00"/);
    // Who opens the address of a link gets the same entries, wherever that is.
    expect(text).toContain('today (Australia/Darwin)');
    await choose('');
    const elsewhere = await visitor.get(`${path}?${typed.toString()}`);
    expect(elsewhere.text).toMatch(/name="from" type="datetime-local" value="2999-01-01T23:30:00"/);
    expect(elsewhere.text).toContain('From (UTC)');
    const nowhere = await visitor.get(`${path}?from=2999-01-02T09:00:00&time_zone=Mars/Olympus`);
    expect(nowhere.status).toBe(400);
  });

  test('so are those of other forms, and what stood at a time', async () => {
    await choose('Australia/Darwin');
    const root = `/workspaces/${service.workspaceId('clinic')}`;
    const [time_zone, inZone] = ['Australia/Darwin', '2999-01-02T09:00'];
    const form = await visitor.get(`${root}/keys/new`);
    expect(form.text).toContain('Expires (Australia/Darwin)');
    const made = await newEvents(service, async () => {
      const fields = { name: 'Nightly', permissions: 'read', expires_at: inZone, time_zone };
      expect((await visitor.post(`${root}/keys/new`, fields)).status).toBe(303);
    });
    expect(made.map(({ data }) => data.expires_at)).toEqual(['2999-01-01T23:30:00.000Z']);
    const keyId = String(made[0]?.data.key_id);
    const limits = await visitor.get(`${root}/keys/${keyId}/limits`);
    expect(limits.text).toContain(`value="${inZone}"`);

    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    // Taken as UTC it would be later than now.
    const before = new Date(Date.now() + 9 * 3_600_000).toISOString().slice(0, 19);
    const query = new URLSearchParams({ as_of: before, time_zone }).toString();
    const shown = await visitor.get(`${root}/records/payers/${payer.id}?${query}`);
    expect(shown.text).toContain('As of (Australia/Darwin)');
    expect(shown.text).not.toContain('This is the record as it was in version 1');
    const after = new Date(Date.now() + 10 * 3_600_000).toISOString().slice(0, 19);
    const later = new URLSearchParams({ as_of: after, time_zone }).toString();
    const found = await visitor.get(`${root}/records/payers/${payer.id}?${later}`);
    expect(found.text).toContain('This is the record as it was in version 1');
    await choose('');
  });

  test('a key ends when it did, though clocks show that time twice, where only another limit is changed', async () => {
    await choose('America/New_York');
    const keys = `/workspaces/${service.workspaceId('clinic')}/keys`;
    const { id } = await service.createKey('clinic');
    const day = endOfSummerTime(new Date().getUTCFullYear() + 1);
    // An hour after clocks showed half past one for the first time.
    const expires_at = `${day}T06:30:00.000Z`;
    const limits = await newEvents(service, async () => {
      await visitor.get(`${keys}/${id}/limits`);
      await visitor.post(`${keys}/${id}/limits`, { expires_at, rate_limit: '5' });
      const { text } = await visitor.get(`${keys}/${id}/limits`);
      const [, shown = ''] = /name="expires_at" type="datetime-local" value="([^"]+)"/.exec(text) ?? [];
      expect(shown).toBe(`${day}T01:30`);
      const sent = { expires_at: shown, time_zone: 'America/New_York', rate_limit: '6' };
      expect((await visitor.post(`${keys}/${id}/limits`, sent)).status).toBe(303);
    });
    expect(limits.map(({ data }) => data)).toEqual([
      { key_id: id, expires_at, rate_limit: 5 },
      { key_id: id, rate_limit: 6 },
    ]);
    await choose('');
  });

  test('a time zone that there is not is refused', async () => {
    const appended = await installationEvents(service, async () => {
      const { status, text } = await choose('Mars/Olympus');
      expect(status).toBe(400);
      expect(text).toContain('Choose a time zone from the list.');
    });
    expect(appended).toEqual([]);
  });
});

/** The first Sunday of November, when the clocks of New York are set back. */
function endOfSummerTime(year: number): string {
  const first = new Date(Date.UTC(year, 10, 1));
  return new Date(Date.UTC(year, 10, 1 + ((7 - first.getUTCDay()) % 7))).toISOString().slice(0, 10);
}
