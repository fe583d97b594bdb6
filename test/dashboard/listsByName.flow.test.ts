import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import { sendBatch } from '../support/client.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, startFaultyApp, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let root: string;
  const [first, family] = [phi('Wilhelmina'), phi('Quackenbush')];
  const person = { first_name: first, last_name: family };
  const wilma = { ...samples.patient(), ...person, date_of_birth: '1951-04-07' };
  const other = { ...samples.patient(), ...person, date_of_birth: '1999-04-07' };
  const visit = { ...samples.encounter(wilma.id), date_of_service: '2026-03-14' };
  beforeAll(async () => {
    service = await start();
    root = `/workspaces/${service.workspaceId('clinic')}`;
    for (const one of [wilma, other, samples.patient()]) await service.post('/integration/patients', one);
    await service.post('/integration/encounters', visit);
    ({ visitor } = await signedIn(service, 'billing'));
    await visitor.get(`${root}/records?kind=patients`);
  });
  afterAll(() => service.stop());

  /** Sends the form above a list; gives the address that it leads to, below `/dashboard`. */
  async function filter(form: Record<string, string>): Promise<string> {
    const { status, headers } = await visitor.post(`${root}/records`, form);
    expect(status).toBe(303);
    return String(headers.location).slice('/dashboard'.length);
  }
  const listed = (page: string) => [wilma, other].map(({ id }) => page.includes(`/records/patients/${id}"`));

  test('by the beginnings of words: the address has no name, and the audit trail whom the list showed', async () => {
    let address = '';
    const saved = await appendedBy(service, async () => {
      address = await filter({ kind: 'patients', name: `${family.slice(0, 5)} ${first.slice(0, 3)}` });
    });
    expect(saved).toEqual([]);
    expect(address).toMatch(/\?kind=patients&n=\d+$/);
    const accesses = await accessesBy(service, async () => {
      const { text } = await visitor.get(address);
      expect(listed(text)).toEqual([true, true]);
      expect(text).toContain('Filter (1)');
      expect(text.match(/<tr>/g)?.length).toBe(3);
    });
    expect(accesses).toEqual([
      {
        action: 'record.search',
        query: { for: ['name'], kind: 'patient', limit: 50 },
        shown: {
          ranges: [],
          count: 2,
          things: expect.arrayContaining([
            { kind: 'patient', record_id: wilma.id },
            { kind: 'patient', record_id: other.id },
          ]),
        },
      },
    ]);
    const born = await visitor.get(await filter({ kind: 'patients', name: `${first} 1951` }));
    expect(listed(born.text)).toEqual([true, false]);
  });

  test('says what to do where nothing has the name, and shows the list without it', async () => {
    const address = await filter({ kind: 'patients', name: phi('nobody'), sort: 'created_at' });
    expect(address).toContain('sort=created_at');
    const { text } = await visitor.get(address);
    expect(text).toContain('No patients match');
    const [, all = ''] = /href="\/dashboard([^"]+)">Show without this name/.exec(text) ?? [];
    expect(listed((await visitor.get(all.replaceAll('&amp;', '&'))).text)).toEqual([true, true]);
    const [, search = ''] = /href="\/dashboard([^"]+)">Search all kinds of records/.exec(text) ?? [];
    expect((await visitor.get(search)).text).toContain('Nothing matches all of');
  });

  test('together with other filters; not as of a time, and not longer than any text', async () => {
    const merged = await filter({ kind: 'patients', name: family, merged_into: 'nobody' });
    expect(listed((await visitor.get(merged)).text)).toEqual([false, false]);
    const then = await visitor.get(
      await filter({ kind: 'patients', name: family, as_of: '2026-01-01T00:00' }),
    );
    expect(then.status).toBe(400);
    expect(then.text).toContain('Name filters only the latest state.');
    const long = await visitor.post(`${root}/records`, { kind: 'patients', name: 'x'.repeat(1_001) });
    expect(long.status).toBe(400);
    expect(long.text).toContain('<a href="#name">Name must');
    expect((await visitor.get(`${root}/records?kind=patients&n=99`)).text).toContain('no longer available');
  });

  test('encounters by the name of their patient, who is chosen', async () => {
    const address = await filter({ kind: 'encounters', name: family, is_completed: 'false' });
    let page = '';
    const accesses = await accessesBy(service, async () => {
      page = (await visitor.get(address)).text;
    });
    expect(accesses).toMatchObject([
      { action: 'record.search', query: { kind: 'patient' }, shown: { count: 2 } },
    ]);
    const whose = `patient_id=${encodeURIComponent(wilma.id)}`;
    const [, chosen = ''] = page.match(new RegExp(`href="/dashboard([^"]+${whose})#list"`)) ?? [];
    expect(chosen).toContain('is_completed=false');
    const list = (await visitor.get(chosen.replaceAll('&amp;', '&'))).text;
    expect(list).toContain(`/records/encounters/${visit.id}"`);
  });

  test('only what has a date is said to be found by one', async () => {
    const shown = async (kind: string) => (await visitor.get(`${root}/records?kind=${kind}`)).text;
    for (const kind of ['patients', 'encounters']) expect(await shown(kind)).toContain('"Name or date"');
    for (const kind of ['payers', 'providers', 'facilities'])
      expect(await shown(kind)).not.toContain('"Name or date"');
  });

  test('keys by the beginnings of words in their names, once they are many; nothing is recorded', async () => {
    const { visitor: admin } = await signedIn(service, 'admin');
    const workspace = service.workspaceId('clinic');
    expect((await admin.get(`${root}/keys`)).text).not.toContain('name="name"');
    const make = (name: string) => service.keys.createKey(workspace, name, ['read']);
    await make('Zoë: nightly sync');
    for (let count = 0; count < 21; count += 1) await make(`Lab ${count}`);
    const keysIn = (page: string) => page.match(/\/keys\/key_\w+" title="[^"]+"/g)?.length;
    const appended = await appendedBy(service, async () => {
      const all = await admin.get(`${root}/keys`);
      expect(all.text).toContain('name="name"');
      const found = await admin.get(`${root}/keys?name=night+zoe`);
      expect(keysIn(found.text)).toBe(1);
      expect(found.text).toContain('Filter (1)');
      expect((await admin.get(`${root}/keys?name=ightly`)).text).toContain('No name matches');
    });
    expect(appended).toEqual([]);
  });

  test('503 while the list is behind: no patient is said not to exist', async () => {
    const checkpoint = () => Promise.reject(unavailable('read model', new Error('gone')));
    const app = await startFaultyApp(service, { readModels: { checkpoint } });
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    for (const kind of ['patients', 'encounters']) {
      const address = await filter({ kind, name: family });
      const answer = await fetch(`${app.url}/dashboard${address}`, { headers: { cookie } });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
      const text = await answer.text();
      expect(text).toContain('Try again');
      expect(text).not.toContain('No patients match');
    }
    await app.stop();
  });

  test('a page on which nothing passes the other filters is no empty list', async () => {
    const name = phi('Rarely Merged');
    const line = () => ({ kind: 'patient', record: { ...samples.patient(), last_name: name } });
    for (let batch = 0; batch < 3; batch += 1) {
      const lines = Array.from({ length: 400 }, line);
      expect((await sendBatch(service, lines)).status).toBe(200);
    }
    const { text } = await visitor.get(await filter({ kind: 'patients', name, merged_into: 'nobody' }));
    expect(text).toContain('rel="next"');
    expect(text).toContain('No patients on this page.');
    let last = text;
    for (let pages = 1; pages < 10 && last.includes('rel="next"'); pages += 1) {
      const [, next = ''] = /href="\/dashboard([^"]+)" rel="next"/.exec(last) ?? [];
      last = (await visitor.get(next.replaceAll('&amp;', '&'))).text;
      expect(last).toContain('No patients on this page.');
    }
    expect(last).not.toContain('rel="next"');
  });

  test('page by page, each record once', async () => {
    const name = phi('Clinic of many');
    const lines = Array.from({ length: 60 }, () => ({
      kind: 'facility',
      record: { ...samples.facility(), name },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    const { text } = await visitor.get(await filter({ kind: 'facilities', name }));
    const [, next = ''] = /href="\/dashboard([^"]+)" rel="next"/.exec(text) ?? [];
    const pages = [text, (await visitor.get(next.replaceAll('&amp;', '&'))).text];
    const ids = pages.flatMap((page) =>
      [...page.matchAll(/\/records\/facilities\/([^"?]+)"/g)].map(([, id]) => id),
    );
    expect(ids.length).toBe(60);
    expect(new Set(ids)).toEqual(new Set(lines.map(({ record }) => encodeURIComponent(record.id))));
    expect(pages[1]).not.toContain('rel="next"');
  });
});
