import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, search } from '../support/client.ts';
import { notePhi } from '../support/output.ts';
import { documentForm, documentsPath } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, logLines, refusalsBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  /** May write and read in a workspace of its own. */
  let client: Client;
  /** Letters that nothing else that is tested has. */
  const mark = randomBytes(4)
    .toString('hex')
    .replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] as string);
  const surname = `Núñez${mark}`;
  const maria = {
    ...{
      id: `MRN-${mark}-0012345`,
      first_name: 'María José',
      last_name: surname,
      date_of_birth: '1984-02-29',
    },
    primary_insurance: { payer_id: `payer-${mark}`, policy_number: `W-${mark} 77` },
  };
  const mario = { id: `p2-${mark}`, first_name: 'Mario', last_name: surname, date_of_birth: '1990-01-02' };
  const marionette = { ...mario, id: `p3-${mark}`, last_name: `${surname}ette`, first_name: 'Mar' };
  const provider = { id: `pr-${mark}`, first_name: 'Ada', last_name: `O'Brien${mark}`, npi: '1234567893' };
  const encounter = { id: `visit-${mark}`, patient_id: maria.id, date_of_service: '2026-03-14' };
  const records = [
    ['payers', { id: `payer-${mark}`, name: `Aetna ${mark}` }],
    ['patients', maria],
    ['patients', mario],
    ['patients', marionette],
    ['providers', provider],
    ['encounters', encounter],
  ] as const;
  const scan = documentsPath(encounter.id, `scan-${mark}`);

  beforeAll(async () => {
    notePhi(surname, maria.id, provider.last_name);
    service = await start();
    client = service.as((await service.createKey('search')).key);
    for (const [plural, record] of records) {
      expect((await client.post(`/integration/${plural}`, record)).status).toBe(200);
    }
    const form = documentForm({ document_id: `scan-${mark}`, filename: `Lab ${mark} 2026-03-14.pdf` });
    expect((await client.upload(documentsPath(encounter.id), form)).status).toBe(200);
  });
  afterAll(() => service.stop());

  /** What is found, as `id matched`. */
  async function found(q: string, more: object = {}): Promise<string[]> {
    const { status, body } = await search(client, { q, ...more });
    expect([q, status, body.next_page_token]).toEqual([q, 200, null]);
    return body.items.map(({ id, matched }: { id: string; matched: string }) => `${id} ${matched}`);
  }

  test('an id of 255 characters is found, whatever it consists of', async () => {
    const ids = [
      `${mark}-${'7'.repeat(254 - mark.length)}`,
      `${mark} ${'a b-c '.repeat(50)}`.slice(0, 255).trim(),
    ];
    for (const id of ids) {
      expect((await client.post('/integration/payers', { id, name: 'Long' })).status).toBe(200);
      expect(await found(id)).toEqual([`${id} whole`]);
    }
  });

  test('a query of many words finds what has all of them, and nothing that lacks one', async () => {
    const words = Array.from({ length: 20 }, (_, at) => `${mark}w${'abcdefghijklmnopqrst'[at]}`);
    const id = `many-${mark}`;
    expect((await client.post('/integration/payers', { id, name: words.join(' ') })).status).toBe(200);
    expect(await found(words.join(' '))).toEqual([`${id} words`]);
    expect(await found(`${words.slice(0, 19).join(' ')} ${mark}w`)).toEqual([`${id} beginnings`]);
    expect(await found(`${words.slice(0, 19).join(' ')} ${mark}wz`)).toEqual([]);
  });

  test('names are found in any order, by beginnings, without case and accents', async () => {
    for (const q of [`maria nunez${mark}`, `NÚÑEZ${mark} josé`, `  núñez${mark}   MARÍA  `]) {
      expect(await found(q)).toEqual([`${maria.id} words`]);
    }
    expect(await found(`nunez${mark} mar`)).toEqual([
      `${marionette.id} beginnings`,
      `${mario.id} beginnings`,
      `${maria.id} beginnings`,
    ]);
    expect(await found(`nunez${mark} j`)).toEqual([`${maria.id} beginnings`]);
    expect(await found(`o'brien${mark}`)).toEqual([`${provider.id} words`]);
    expect(await found(`nunez${mark} xavier`)).toEqual([]);
  });

  test('what fits better comes first, then what changed last', async () => {
    expect(await found(`nunez${mark}`)).toEqual([
      `${mario.id} words`,
      `${maria.id} words`,
      `${marionette.id} beginnings`,
    ]);
  });

  test('dates of birth are found in usual forms', async () => {
    for (const day of ['1984-02-29', '02/29/1984', '2/29/1984', '19840229', '1984']) {
      expect(await found(`${day} nunez${mark}`)).toEqual([`${maria.id} words`]);
    }
    expect(await found(`1985 nunez${mark}`)).toEqual([]);
  });

  test('ids and numbers are found as a whole, with other signs, and in part', async () => {
    for (const q of [maria.id, ` ${maria.id.toLowerCase()} `, `mrn ${mark} 0012345`, `w${mark}77`]) {
      expect(await found(q, { kind: 'patient' })).toEqual([`${maria.id} whole`]);
    }
    for (const q of [`${mark} 00123`, `${mark} 2345`, `${mark} 1234`]) {
      expect((await found(q, { kind: 'patient' }))[0]).toBe(
        `${maria.id} ${q.endsWith('2345') ? 'words' : 'beginnings'}`,
      );
    }
    expect(await found('1234567893')).toEqual([`${provider.id} whole`]);
    expect((await found(encounter.id))[0]).toBe(`${encounter.id} whole`);
  });

  test('it says what tells namesakes apart, and whose a document is', async () => {
    const [hit] = (await search(client, { q: `maria ${surname}` })).body.items;
    expect(hit).toEqual({
      ...{ kind: 'patient', id: maria.id, title: `María José ${surname}`, matched: 'words', version: 1 },
      details: {
        date_of_birth: '1984-02-29',
        'primary_insurance.payer_id': `payer-${mark}`,
        'primary_insurance.policy_number': `W-${mark} 77`,
      },
      ...{ created_at: expect.any(String), updated_at: expect.any(String) },
    });
    const { items } = (await search(client, { q: `lab ${mark} 2026-03-14` })).body;
    expect(items).toMatchObject([
      {
        kind: 'document',
        id: `scan-${mark}`,
        details: { encounter_id: encounter.id, category: 'lab_results' },
      },
    ]);
    const [visit] = (await search(client, { q: encounter.id, kind: 'encounter' })).body.items;
    expect(visit.details).toEqual({ patient_id: maria.id, date_of_service: '2026-03-14' });
  });

  test('pages go on where they ended', async () => {
    const seen: string[] = [];
    for (let page_token: string | undefined; ; ) {
      const { body } = await search(client, {
        q: `nunez${mark}`,
        limit: 1,
        ...(page_token && { page_token }),
      });
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      if (body.next_page_token === null) break;
      page_token = body.next_page_token;
    }
    expect(seen).toEqual([mario.id, maria.id, marionette.id]);
  });

  test('a key for some kinds finds those alone, and none finds what another workspace has', async () => {
    const scoped = service.as((await service.createKey('search', ['read:provider'])).key);
    const kinds = async (asked: object) =>
      (await search(scoped, asked)).body.items.map(({ kind }: { kind: string }) => kind);
    expect(await kinds({ q: maria.id })).toEqual([]);
    expect(await kinds({ q: mark })).toEqual(['provider']);
    expect((await search(scoped, { q: mark, kind: 'patient' })).status).toBe(403);
    const writer = service.as((await service.createKey('search', ['write'])).key);
    expect((await search(writer, { q: mark })).status).toBe(403);
    expect((await search(service, { q: surname })).body).toEqual({ items: [], next_page_token: null });
  });

  test('it is one entry of the audit trail, which has no word of it; neither has the log', async () => {
    const word = `Zyx${mark}`;
    const accesses = await accessesBy(service, async () => {
      await search(client, { q: `${surname} ${maria.first_name}`, limit: 5 });
      await search(client, { q: word, kind: 'payer' });
    });
    const things = [{ kind: 'patient', record_id: maria.id }];
    expect(accesses).toEqual([
      {
        action: 'record.search',
        query: { for: ['name'], limit: 5 },
        shown: { ranges: [], count: 1, things },
      },
      {
        action: 'record.search',
        query: { for: ['name'], kind: 'payer', limit: 20 },
        shown: { ranges: [], count: 0, things: [] },
      },
    ]);
    expect(logLines(word)).toEqual([]);
  });

  const refused: [string, object][] = [
    ['q', {}],
    ['q', { q: ' \t ' }],
    ['q', { q: 'x'.repeat(1001) }],
    ['q', { q: ['a'] }],
    ['kind', { q: 'a', kind: 'nobody' }],
    ['limit', { q: 'a', limit: 101 }],
    ['page_token', { q: 'a', page_token: 'MS4x' }],
  ];
  test.each(refused)('a wrong %s is refused, and not repeated: %o', async (field, asked) => {
    const appended = await appendedBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        const { status, body } = await search(client, asked);
        expect([status, body.code]).toEqual([400, 'validation_failed']);
        expect(body.details.map((detail: { field: string }) => detail.field)).toEqual([field]);
      });
      expect(refusals).toHaveLength(1);
    });
    expect(appended).toEqual([]);
  });

  test('what changes is found by what it is now; a removed document says so', async () => {
    const changed = { ...mario, last_name: `Quetzal${mark}` };
    expect((await client.post('/integration/patients', changed)).status).toBe(200);
    expect(await found(`quetzal${mark}`)).toEqual([`${mario.id} words`]);
    expect(await found(`mario nunez${mark}`)).toEqual([]);
    expect((await client.delete(scan)).status).toBe(200);
    const [document] = (await search(client, { q: `scan-${mark}`, kind: 'document' })).body.items;
    expect(document).toMatchObject({ id: `scan-${mark}`, removed: true, version: 2 });
  });
});
