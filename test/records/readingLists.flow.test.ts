import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import {
  minimal,
  pathOf,
  paths,
  type Referred,
  type SpecKind,
  samples,
  upsertReferred,
} from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

/** Ids of all pages of a list, in order; `between` runs before each further page. */
async function walk(
  client: Client,
  path: string,
  limit: number,
  between: () => Promise<unknown> = async () => {},
) {
  const ids: string[] = [];
  const sizes: number[] = [];
  for (let token = ''; ; ) {
    const page = token === '' ? '' : `&page_token=${encodeURIComponent(token)}`;
    const { status, body } = await client.get(`${path}?limit=${limit}${page}`);
    expect(status).toBe(200);
    ids.push(...body.items.map(({ id }: { id: string }) => id));
    sizes.push(body.items.length);
    if (body.next_page_token === null) return { ids, sizes };
    token = body.next_page_token;
    await between();
  }
}

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** A client of a workspace of its own. */
  async function clientOf(label: string): Promise<Client> {
    return service.as((await service.createKey(label)).key);
  }

  test('paging through 250 records neither skips nor repeats, while new ones come in and old ones change', async () => {
    const client = await clientOf('paging');
    const payers = Array.from({ length: 250 }, samples.payer);
    for (const payer of payers) await client.post(paths.payer, payer);
    const added: string[] = [];
    const { ids, sizes } = await walk(client, paths.payer, 60, async () => {
      const payer = samples.payer();
      added.push(payer.id);
      await client.post(paths.payer, payer);
      await client.post(paths.payer, { ...payers[0], city: 'Omaha' });
      await client.post(paths.payer, { ...payers[249], city: 'Omaha' });
    });
    expect(ids).toEqual([...payers.map(({ id }) => id), ...added]);
    expect(sizes).toEqual([60, 60, 60, 60, 14]);
  });

  test('a list holds each record once, as it reads by itself, in the order of creation', async () => {
    const client = await clientOf('lists');
    const referred: Referred = await upsertReferred(client);
    for (const kind of Object.keys(paths) as SpecKind[]) {
      const records = [minimal(kind, referred), minimal(kind, referred), minimal(kind, referred)];
      for (const record of [...records, records[0]]) await client.post(paths[kind], record);
      const appended = await appendedBy(service, async () => {
        const { body } = await client.get(paths[kind]);
        const items = body.items.slice(-3);
        expect(items.map(({ id }: { id: string }) => id)).toEqual(records.map(({ id }) => id));
        expect(body.next_page_token).toBeNull();
        for (const item of items) expect(item).toEqual((await client.get(pathOf(kind, item.id))).body);
      });
      expect(appended).toEqual([]);
    }
  });

  test('a list includes the write that was acknowledged just before it', async () => {
    const client = await clientOf('fresh');
    for (let count = 1; count <= 30; count++) {
      const payer = samples.payer();
      await client.post(paths.payer, payer);
      const { body } = await client.get(paths.payer);
      expect([body.items.length, body.items.at(-1).id]).toEqual([count, payer.id]);
    }
  });

  test('a list that ends with a full page has no further one', async () => {
    const client = await clientOf('full');
    for (let count = 0; count < 4; count++) await client.post(paths.payer, samples.payer());
    expect((await walk(client, paths.payer, 2)).sizes).toEqual([2, 2]);
    expect((await client.get(`${paths.payer}?limit=1000`)).body.items).toHaveLength(4);
    expect((await client.get(paths.provider)).body).toEqual({
      items: [],
      next_page_token: null,
      unreadable: [],
    });
  });

  test('a list without a limit has 100 items', async () => {
    const client = await clientOf('unlimited');
    for (let count = 0; count < 101; count++) await client.post(paths.payer, samples.payer());
    const { body } = await client.get(paths.payer);
    expect(body.items).toHaveLength(100);
    expect(body.next_page_token).toEqual(expect.any(String));
  });

  test('a page token of another workspace or kind is refused', async () => {
    const [one, other] = [await clientOf('one'), await clientOf('another')];
    for (let count = 0; count < 3; count++) await one.post(paths.payer, samples.payer());
    const { body } = await one.get(`${paths.payer}?limit=1`);
    const page = `?page_token=${body.next_page_token}`;
    expect((await other.get(paths.payer + page)).status).toBe(400);
    expect((await one.get(paths.provider + page)).status).toBe(400);
    expect((await one.get(paths.payer + page)).body.items).toHaveLength(2);
  });

  test.each([
    ['0', 'must be at least 1'],
    ['1001', 'must be at most 1000'],
    ['ten', 'must be a whole number'],
  ])('a limit of %s: %s', async (limit, message) => {
    const { body } = await service.get(`${paths.payer}?limit=${limit}`);
    expect(body.details).toEqual([{ field: 'limit', message }]);
  });

  test.each([
    ['limit', '0'],
    ['limit', '-1'],
    ['limit', '1001'],
    ['limit', '1.5'],
    ['limit', 'ten'],
    ['limit', ''],
    ['limit', 'NaN'],
    ['limit', 'Infinity'],
    ['limit', '1e2'],
    ['limit', '0x10'],
    ['limit', '%201'],
    ['limit', '1&limit=2'],
    ['page_token', ''],
    ['page_token', 'x'],
    ['page_token', 'MS54'],
    ['page_token', '../../etc'],
    ['page_token', '%00'],
    ['page_token', 'a&page_token=b'],
    ['page_token', Buffer.from('1.99999999999999999').toString('base64url')],
    ['page_token', Buffer.from('1.-5').toString('base64url')],
  ])('%s=%s is refused with 400', async (field, value) => {
    const { status, body } = await service.get(`${paths.payer}?${field}=${value}`);
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', details: [{ field, message: expect.any(String) }] },
    });
  });
});
