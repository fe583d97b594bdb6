import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Storage } from '@google-cloud/storage';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GcsDocumentStore } from '../../src/storage/engines/gcs/documentStore.ts';
import { eventually } from '../support/eventually.ts';
import { type TcpProxy, tcpProxy } from '../support/network.ts';
import { gcsBucket, googleCloudStorage } from '../support/servers.ts';

import { documentStoreContract } from './contracts/documentStore.ts';

const server = await googleCloudStorage();
const root = `chartledger-test-${randomBytes(4).toString('hex')}`;
const away = { code: 'unavailable' };
const hello = () => Readable.from([Buffer.from('hello')]);

function urlOf(prefix: string, endpoint = server.url ?? '', bucket = gcsBucket): string {
  return `gs://${bucket}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`;
}

(server.url ? describe : describe.skip)('GcsDocumentStore', () => {
  const bucket = new Storage({
    apiEndpoint: server.url ?? '',
    projectId: 'test',
    useAuthWithCustomEndpoint: false,
  }).bucket(gcsBucket);
  const namesIn = async (prefix: string) => {
    const [files] = await bucket.getFiles({ prefix: `${prefix}/` });
    return files.map(({ name }) => name.slice(prefix.length + 1));
  };
  afterAll(() => bucket.deleteFiles({ prefix: root, force: true }));

  describe('contract', () => {
    const prefix = `${root}/contract`;
    documentStoreContract({
      url: urlOf(prefix),
      open: async () => new GcsDocumentStore(urlOf(prefix), { abandonedAfterMs: 0 }),
      contents: () => namesIn(prefix),
    });
  });

  test('objects and notes have their places, also without a prefix', async () => {
    const [prefixed, bare] = [randomUUID(), randomUUID()];
    const prefix = `${root}/a b/ü%2F`;
    const store = new GcsDocumentStore(urlOf(prefix.split('/').map(encodeURIComponent).join('/')));
    await store.put(prefixed, hello());
    expect(await namesIn(prefix)).toEqual([`objects/${prefixed}`, `uploads/${prefixed}`]);
    const other = new GcsDocumentStore(`gs://${gcsBucket}?endpoint=${encodeURIComponent(server.url ?? '')}`);
    await other.put(bare, hello());
    expect(await buffer(bucket.file(`objects/${bare}`).createReadStream())).toEqual(Buffer.from('hello'));
    await other.discard(bare);
  });

  test('uploads of other instances are left alone for a day', async () => {
    const prefix = `${root}/others`;
    const objectId = randomUUID();
    await new GcsDocumentStore(urlOf(prefix)).put(objectId, hello());
    expect(await new GcsDocumentStore(urlOf(prefix)).abandoned()).toEqual([]);
    const later = new GcsDocumentStore(urlOf(prefix), { abandonedAfterMs: 0 });
    expect(await later.abandoned()).toEqual([{ objectId, stream: undefined }]);
  });

  test('an upload writes no name twice', async () => {
    const prefix = `${root}/names`;
    const objectId = randomUUID();
    const store = new GcsDocumentStore(urlOf(prefix));
    await store.put(objectId, hello());
    const [note] = await bucket.file(`${prefix}/uploads/${objectId}`).getMetadata();
    await store.claim(objectId, 'clinic.document-a');
    const [after] = await bucket.file(`${prefix}/uploads/${objectId}`).getMetadata();
    expect(after.generation).toBe(note.generation);
    const names = [`objects/${objectId}`, `uploads/${objectId}`, `uploads/${objectId}.claim`];
    expect(await namesIn(prefix)).toEqual(names);
    const later = new GcsDocumentStore(urlOf(prefix), { abandonedAfterMs: 0 });
    // What is left when the removal of the notes was cut off.
    await bucket.file(`${prefix}/uploads/${objectId}`).delete();
    expect(await later.abandoned()).toEqual([{ objectId, stream: 'clinic.document-a' }]);
    await later.confirm(objectId);
    expect(await namesIn(prefix)).toEqual([`objects/${objectId}`]);
  });

  test('a bucket that is not there is unavailable', async () => {
    const store = new GcsDocumentStore(urlOf(root, server.url, `missing-${randomUUID()}`));
    await expect(store.check()).rejects.toMatchObject(away);
    await expect(store.put(randomUUID(), hello())).rejects.toMatchObject(away);
    await expect(store.get(randomUUID())).rejects.toMatchObject(away);
    await expect(store.has(randomUUID())).rejects.toMatchObject(away);
  });

  test('a download gives no warning', async () => {
    const warnings: string[] = [];
    const note = (warning: Error) => warnings.push(warning.name);
    process.on('warning', note);
    const store = new GcsDocumentStore(urlOf(`${root}/warnings`));
    const objectId = randomUUID();
    await store.put(objectId, Readable.from([randomBytes(1_000_000)]));
    expect(await buffer(await store.get(objectId))).toHaveLength(1_000_000);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  describe('behind a server that goes away', () => {
    let proxy: TcpProxy;
    let store: GcsDocumentStore;
    const objectId = randomUUID();
    const stored = randomBytes(3_000_000);
    beforeAll(async () => {
      const { hostname, port } = new URL(server.url ?? '');
      proxy = await tcpProxy({ host: hostname, port: Number(port) });
      const endpoint = `http://${proxy.host}:${proxy.port}`;
      store = new GcsDocumentStore(urlOf(`${root}/away`, endpoint), { callMs: 2_000, stallMs: 3_000 });
      await store.put(objectId, Readable.from([stored]));
      await store.confirm(objectId);
    });
    afterAll(() => proxy.close());

    const ways = { frozen: () => proxy.freeze(), cut: () => proxy.cut() };
    test.each(Object.keys(ways) as (keyof typeof ways)[])(
      'every call is unavailable while it is %s, and works again by itself',
      async (way) => {
        ways[way]();
        const answers = await Promise.allSettled([
          store.put(randomUUID(), hello()),
          store.claim(objectId, 'clinic.document-a'),
          store.confirm(objectId),
          store.discard(objectId),
          store.abandoned(),
          store.get(objectId),
          store.has(objectId),
          store.delete(objectId),
          store.check(),
        ]);
        expect(answers.map(({ status }) => status)).toEqual(Array(9).fill('rejected'));
        for (const answer of answers) expect(answer).toMatchObject({ reason: away });
        proxy.restore();
        await eventually(() => store.check());
        const again = randomUUID();
        await store.put(again, Readable.from([stored]));
        expect((await buffer(await store.get(again))).equals(stored)).toBe(true);
        await store.discard(again);
      },
    );

    test('a download that stands still fails', async () => {
      const again = randomUUID();
      await store.put(again, Readable.from([Buffer.alloc(30_000_000)]));
      const download = await store.get(again);
      proxy.freeze();
      await expect(buffer(download)).rejects.toMatchObject(away);
      proxy.restore();
    });
  });
});

/** A server of our own, for what the others do not do. */
async function serve(answer: (req: IncomingMessage, res: ServerResponse) => void) {
  const own = createServer((req, res) => {
    req.resume();
    res.setHeader('content-type', 'application/json');
    answer(req, res);
  });
  own.listen(0, '127.0.0.1');
  await once(own, 'listening');
  const stop = () => {
    own.closeAllConnections();
    own.close();
  };
  return { url: `http://127.0.0.1:${(own.address() as AddressInfo).port}`, stop };
}

test('a list of abandoned uploads may have many pages', async () => {
  const ids = Array.from({ length: 5 }, () => randomUUID());
  const { url, stop } = await serve((req, res) => {
    const query = new URL(req.url ?? '', 'http://host').searchParams;
    if (query.get('alt') === 'media') return res.end('');
    const page = Number(query.get('pageToken') ?? 0);
    const items = ids
      .slice(page * 2, page * 2 + 2)
      .map((id) => ({ name: `pages/uploads/${id}`, updated: '2020-01-01T00:00:00Z' }));
    res.end(JSON.stringify({ items, ...(page < 2 && { nextPageToken: String(page + 1) }) }));
  });
  const found = await new GcsDocumentStore(urlOf('pages', url)).abandoned();
  expect(found).toEqual(ids.map((objectId) => ({ objectId, stream: undefined })));
  stop();
});

test('an upload that stands still is unavailable; its source is not read on, and is let go', async () => {
  // Takes the note, begins the upload, and never answers to its bytes.
  const { url, stop } = await serve((req, res) => {
    if (req.method === 'PUT') return;
    if (req.url?.includes('uploadType=resumable'))
      res.setHeader('location', `http://${req.headers.host}/session`);
    res.end(JSON.stringify({ crc32c: 'AAAAAA==' }));
  });
  const store = new GcsDocumentStore(urlOf('stalled', url), { stallMs: 500 });
  let read = 0;
  let left = false;
  const endless = async function* () {
    try {
      for (;;) {
        read += 65_536;
        yield Buffer.alloc(65_536);
      }
    } finally {
      left = true;
    }
  };
  await expect(store.put(randomUUID(), Readable.from(endless()))).rejects.toMatchObject(away);
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(20 * 1024 * 1024);
  await eventually(() => expect(left).toBe(true));
  stop();
});

test('an upload that the store completes when nobody waits for it any more is found as abandoned', async () => {
  const names = new Set<string>();
  const { url, stop } = await serve((req, res) => {
    if (req.method === 'PUT') return;
    const { pathname, searchParams } = new URL(req.url ?? '', 'http://host');
    const [, named] = pathname.split('/o/');
    if (req.method === 'DELETE') res.statusCode = names.delete(decodeURIComponent(named ?? '')) ? 204 : 404;
    else if (searchParams.get('uploadType') === 'resumable')
      res.setHeader('location', `http://${req.headers.host}/session`);
    else if (req.method === 'POST') names.add(String(searchParams.get('name')));
    else if (named !== undefined) res.statusCode = 404;
    const items = [...names].map((name) => ({ name, updated: '2020-01-01T00:00:00Z' }));
    const notes = items.filter(({ name }) => name.startsWith(searchParams.get('prefix') ?? ''));
    res.end(JSON.stringify({ items: notes, crc32c: 'AAAAAA==' }));
  });
  const store = new GcsDocumentStore(urlOf('late', url), { stallMs: 500 });
  const objectId = randomUUID();
  await expect(store.put(objectId, hello())).rejects.toMatchObject(away);
  names.add(`late/objects/${objectId}`);
  expect(await store.abandoned()).toEqual([{ objectId, stream: undefined }]);
  await store.discard(objectId);
  expect(names).toEqual(new Set());
  stop();
});
