import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, describe, expect, test } from 'vitest';
import {
  receiveFile,
  settleAbandonedUploads,
  uploadDocument,
} from '../../src/modules/records/commands/documents.ts';
import { RecordExistence } from '../../src/modules/records/commands/references.ts';
import type { AbandonedUpload } from '../../src/storage/documentStore.ts';
import { LocalDocumentStore } from '../../src/storage/engines/filesystem/documentStore.ts';
import { SqliteEventLog } from '../../src/storage/engines/sqlite/eventLog.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import { eventually } from '../support/eventually.ts';
import { documentStoreContract } from './contracts/documentStore.ts';
import { fullDiskContract } from './contracts/fullDisk.ts';

const root = mkdtempSync(join(tmpdir(), 'chartledger-documents-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Soon gone, when nothing more is heard of them. */
const soon = { beatMs: 20, goneAfterMs: 400 };
/** Shows that it lives at its beginning alone, as a process that is frozen from then on. */
const frozen = { ...soon, beatMs: 1_000_000 };

/** The files of a folder, but for those that say who uses it. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/owners'))
    .map(({ name }) => name);
}

describe('LocalDocumentStore', () => {
  const folder = join(root, 'contract');
  documentStoreContract({
    url: `file:${folder}`,
    open: () => LocalDocumentStore.open(folder, soon),
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

test('uploads of another process are left alone while it lives, also of one with the same process id', async () => {
  const folder = join(root, 'alive');
  const [first, second] = [
    await LocalDocumentStore.open(folder, soon),
    await LocalDocumentStore.open(folder, soon),
  ];
  const objectId = randomUUID();
  await first.put(objectId, Readable.from([Buffer.from('hello')]));
  const dead = randomUUID();
  const other = await LocalDocumentStore.open(folder, frozen);
  await other.put(dead, Readable.from([Buffer.from('hello')]));
  const found: AbandonedUpload[] = [];
  await eventually(async () => {
    found.push(...(await second.abandoned()));
    expect(found).not.toEqual([]);
  });
  expect(new Set(found.map((upload) => upload.objectId))).toEqual(new Set([dead]));
  await first.claim(objectId, 'clinic.document-a');
  await first.confirm(objectId);
  const [owner] = readdirSync(join(folder, 'owners'));
  // It is written in place, and may be read while that is done.
  await eventually(() =>
    expect(JSON.parse(readFileSync(join(folder, 'owners', owner as string), 'utf8'))).toEqual({
      host: hostname(),
      pid: process.pid,
      beat: expect.any(Number),
    }),
  );
  await Promise.all([first, second, other].map((store) => store.close()));
  expect(readdirSync(join(folder, 'owners'))).toEqual([]);
});

test('a process that was frozen can settle nothing that another took over', async () => {
  const folder = join(root, 'frozen');
  const thawed = await LocalDocumentStore.open(folder, frozen);
  const other = await LocalDocumentStore.open(folder, soon);
  const [unclaimed, claimed] = [randomUUID(), randomUUID()];
  for (const objectId of [unclaimed, claimed])
    await thawed.put(objectId, Readable.from([Buffer.from('hello')]));
  await thawed.claim(claimed, 'clinic.document-a');
  await eventually(async () => expect(await other.abandoned()).toHaveLength(2));
  await expect(thawed.claim(unclaimed, 'clinic.document-b')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(thawed.confirm(claimed)).rejects.toMatchObject({ code: 'not_found' });
  await other.confirm(claimed);
  await other.discard(unclaimed);
  expect(filesIn(folder)).toEqual([claimed]);
  await Promise.all([thawed.close(), other.close()]);
});

test('an upload whose process was taken for gone is never acknowledged', async () => {
  const folder = join(root, 'late');
  const thawed = await LocalDocumentStore.open(folder, frozen);
  const other = await LocalDocumentStore.open(folder, soon);
  const log = await SqliteEventLog.open(join(root, 'late.db'));
  const caller = {
    workspace: 'clinic',
    principal: { type: 'operator', id: 'test' },
    requestId: uuidv7(),
  } as const;
  const eventLog = new Proxy(log, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (name !== 'append') return typeof own === 'function' ? own.bind(target) : own;
      return async (...append: Parameters<EventLog['append']>) => {
        await eventually(async () => {
          await settleAbandonedUploads(log, other, { has: async () => false });
          expect(filesIn(folder)).toEqual([]);
        });
        return target.append(...append);
      };
    },
  });
  const file = await receiveFile(thawed, 'a.pdf', Readable.from([Buffer.from('%PDF-1.7')]));
  const ports = { eventLog, documentStore: thawed, existence: new RecordExistence(log, {} as ReadModels) };
  const fields = { document_id: 'd', category: 'lab_results' };
  await expect(uploadDocument(ports, caller, 'e', { fields, file }, 'any')).rejects.toMatchObject({
    code: 'unavailable',
  });
  await Promise.all([thawed.close(), other.close(), log.close()]);
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

  test('what an upload leaves in one that goes away meanwhile is found as abandoned when it is back', async () => {
    const folder = join(root, randomUUID());
    const store = await LocalDocumentStore.open(folder);
    const objectId = randomUUID();
    const source = async function* () {
      yield Buffer.from('hel');
      renameSync(folder, `${folder}-aside`);
      yield Buffer.from('lo');
    };
    await expect(store.put(objectId, Readable.from(source()))).rejects.toMatchObject(away);
    renameSync(`${folder}-aside`, folder);
    expect(await store.abandoned()).toEqual([{ objectId, stream: undefined }]);
    await store.discard(objectId);
    expect(filesIn(folder)).toEqual([]);
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

  fullDiskContract((folder) => LocalDocumentStore.open(folder));
});
