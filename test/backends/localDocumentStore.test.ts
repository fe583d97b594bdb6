import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import { LocalDocumentStore } from '../../src/backends/localFiles/LocalDocumentStore.ts';
import { documentStoreContract } from '../contracts/documentStore.ts';
import { eventually } from '../support/eventually.ts';

const root = mkdtempSync(join(tmpdir(), 'chartledger-documents-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

describe('LocalDocumentStore', () => {
  const folder = join(root, 'contract');
  documentStoreContract({
    url: `file:${folder}`,
    open: () => LocalDocumentStore.open(folder),
    contents: async () => filesIn(folder),
  });
});

test('a store that was closed leaves its unsettled uploads to the next one of the process', async () => {
  const folder = join(root, 'closed');
  const first = await LocalDocumentStore.open(folder);
  const second = await LocalDocumentStore.open(folder);
  const objectId = randomUUID();
  await first.put(objectId, Readable.from([Buffer.from('hello')]));
  await first.claim(objectId, 'clinic.document-a');
  expect(await second.abandoned()).toEqual([]);
  await first.close();
  expect(await second.abandoned()).toEqual([{ objectId, stream: 'clinic.document-a' }]);
  await second.close();
});

/** How many files below the folder this process has open. */
function openFiles(folder: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}

(process.platform === 'linux' ? test : test.skip)('no file stays open', async () => {
  const folder = join(root, 'handles');
  const store = await LocalDocumentStore.open(folder);
  const own = openFiles(folder);
  const objectId = randomUUID();
  await store.put(objectId, Readable.from([Buffer.alloc(1_000_000)]));
  const readers = await Promise.all(Array.from({ length: 5 }, () => store.get(objectId)));
  expect(openFiles(folder)).toBe(own + 5);
  for (const reader of readers) reader.destroy();
  const failing = Readable.from(
    (async function* () {
      yield Buffer.alloc(100_000);
      throw new Error('the client went away');
    })(),
  );
  await expect(store.put(randomUUID(), failing)).rejects.toThrow('the client went away');
  await eventually(() => expect(openFiles(folder)).toBe(own));
  await store.close();
  expect(openFiles(folder)).toBe(0);
});

describe('a folder that is away', () => {
  const away = { code: 'unavailable', problem: expect.any(String) };
  const hello = () => Readable.from([Buffer.from('hello')]);
  const ways = {
    'gone (not mounted)': () => undefined,
    'replaced by another folder': (folder: string) => {
      for (const name of ['objects', 'uploads']) mkdirSync(join(folder, name), { recursive: true });
    },
    'replaced by a file': (folder: string) => writeFileSync(folder, 'not a folder'),
  };
  test.each(Object.entries(ways))('%s is unavailable, until it is back', async (_label, hide) => {
    const folder = join(root, randomUUID());
    const store = await LocalDocumentStore.open(folder);
    const [objectId, failed] = [randomUUID(), randomUUID()];
    await store.put(objectId, hello());
    renameSync(folder, `${folder}-aside`);
    hide(folder);

    await expect(store.check()).rejects.toMatchObject(away);
    await expect(store.put(failed, hello())).rejects.toMatchObject(away);
    await expect(store.get(objectId)).rejects.toMatchObject(away);
    await expect(store.has(objectId)).rejects.toMatchObject(away);
    await expect(store.delete(objectId)).rejects.toMatchObject(away);
    await expect(store.claim(objectId, 'clinic.document-a')).rejects.toMatchObject(away);
    await expect(store.confirm(objectId)).rejects.toMatchObject(away);
    await expect(store.abandoned()).rejects.toMatchObject(away);

    rmSync(folder, { force: true, recursive: true });
    renameSync(`${folder}-aside`, folder);
    await store.check();
    await store.confirm(objectId);
    expect(filesIn(folder)).toEqual([objectId]);
    await store.close();
  });

  test('a folder that is replaced while bytes come in keeps none of them for stored', async () => {
    const folder = join(root, randomUUID());
    const store = await LocalDocumentStore.open(folder);
    const source = new Readable({ read: () => undefined });
    source.push(Buffer.from('hello'));
    const objectId = randomUUID();
    const upload = store.put(objectId, source);
    await eventually(() => expect(filesIn(folder).some((name) => name.endsWith('.part'))).toBe(true));
    renameSync(folder, `${folder}-aside`);
    await (await LocalDocumentStore.open(folder)).close();
    source.push(null);
    await expect(upload).rejects.toMatchObject(away);
    expect(filesIn(folder)).toEqual([]);
    await store.close();
  });

  test('the part of it that fails while bytes come in makes the upload unavailable, and its source is let go', async () => {
    const folder = join(root, randomUUID());
    const store = await LocalDocumentStore.open(folder);
    rmSync(join(folder, 'objects'), { recursive: true });
    writeFileSync(join(folder, 'objects'), 'not a folder');
    const source = hello();
    await expect(store.put(randomUUID(), source)).rejects.toMatchObject(away);
    expect(source.destroyed).toBe(true);
    await expect(store.check()).rejects.toMatchObject(away);
    await store.close();
  });
});
