import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AbandonedUpload, DocumentStore } from '../../../src/storage/documentStore.ts';
import { eventually } from '../../support/eventually.ts';

const MB = 1024 * 1024;

export interface DocumentStoreUnderTest {
  /** As `DOCUMENTS_URL` names it. */
  url: string;
  /** One more instance over the same store, to which uploads of processes that are gone are soon abandoned. */
  open(): Promise<DocumentStore>;
  /** The names of all that is in the store: objects, notes and parts. */
  contents(): Promise<string[]>;
}

function* chunksOf(bytes: Buffer, size = 64 * 1024): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** What every backend of the document store promises. */
export function documentStoreContract({ url, open, contents }: DocumentStoreUnderTest): void {
  let store: DocumentStore;
  let other: DocumentStore;
  beforeAll(async () => {
    [store, other] = await Promise.all([open(), open()]);
  });
  afterAll(() => Promise.all([store.close(), other.close()]));

  const put = async (bytes: Buffer) => {
    const objectId = randomUUID();
    const stored = await store.put(objectId, Readable.from(chunksOf(bytes)));
    return { objectId, stored };
  };
  const namesOf = async (objectId: string) => (await contents()).filter((name) => name.includes(objectId));
  const missing = { code: 'not_found' };

  describe('bytes', () => {
    const files = {
      'a small file': randomBytes(1_000),
      'an empty file': Buffer.alloc(0),
      'one of 20 MB and a bit': Buffer.concat([randomBytes(20 * MB), Buffer.from('!')]),
      'one of exactly 8 MB': randomBytes(8 * MB),
    };
    test.each(Object.entries(files))('%s comes back as it was', async (_label, bytes) => {
      const { objectId, stored } = await put(bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(stored).toEqual({ size: bytes.length, sha256 });
      await store.confirm(objectId);
      const read = await buffer(await other.get(objectId));
      expect(read.equals(bytes)).toBe(true);
      await store.delete(objectId);
    });

    test('uploads at once do not mix', async () => {
      const bytes = Array.from({ length: 5 }, () => randomBytes(300_000));
      const uploads = await Promise.all(bytes.map(put));
      const read = await Promise.all(uploads.map(async ({ objectId }) => buffer(await store.get(objectId))));
      expect(read.map((one, index) => one.equals(bytes[index] as Buffer))).toEqual(Array(5).fill(true));
      await Promise.all(uploads.map(({ objectId }) => store.discard(objectId)));
    });

    test('what is not there is not found', async () => {
      await expect(store.get(randomUUID())).rejects.toMatchObject(missing);
      await expect(store.get(randomUUID(), { start: 0, end: 0 })).rejects.toMatchObject(missing);
      expect(await store.has(randomUUID())).toBe(false);
    });

    test('a part of them can be read', async () => {
      const bytes = randomBytes(2 * MB);
      const { objectId } = await put(bytes);
      const parts = [
        [0, 0],
        [7, 70_000],
        [MB, 2 * MB - 1],
        [0, 2 * MB - 1],
      ] as const;
      for (const [start, end] of parts) {
        const part = await buffer(await other.get(objectId, { start, end }));
        expect(part.equals(bytes.subarray(start, end + 1))).toBe(true);
      }
      await store.discard(objectId);
    });

    test('whether they are there is known from the end of the upload to their removal', async () => {
      const { objectId } = await put(Buffer.from('hello'));
      expect(await other.has(objectId)).toBe(true);
      await store.confirm(objectId);
      expect(await other.has(objectId)).toBe(true);
      await store.delete(objectId);
      expect(await other.has(objectId)).toBe(false);
    });

    test('a reader may leave at any moment', async () => {
      const { objectId } = await put(randomBytes(2 * MB));
      (await store.get(objectId)).destroy();
      for await (const chunk of await store.get(objectId)) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      expect(await buffer(await store.get(objectId))).toHaveLength(2 * MB);
      await store.discard(objectId);
    });
  });

  describe('uploads', () => {
    test('one that is confirmed leaves the object alone', async () => {
      const { objectId } = await put(Buffer.from('hello'));
      await store.claim(objectId, 'clinic.document-a');
      await store.confirm(objectId);
      expect(await namesOf(objectId)).toHaveLength(1);
      expect(await store.abandoned()).toEqual([]);
      expect(await buffer(await store.get(objectId))).toEqual(Buffer.from('hello'));
      await store.delete(objectId);
      expect(await namesOf(objectId)).toEqual([]);
    });

    test('one that another process discarded cannot be confirmed', async () => {
      const { objectId } = await put(Buffer.from('hello'));
      await store.claim(objectId, 'clinic.document-a');
      await other.discard(objectId);
      await expect(store.confirm(objectId)).rejects.toMatchObject(missing);
      expect(await namesOf(objectId)).toEqual([]);
    });

    test('one that is discarded leaves nothing', async () => {
      const { objectId } = await put(Buffer.from('hello'));
      await store.claim(objectId, 'clinic.document-a');
      await store.discard(objectId);
      await store.discard(objectId);
      await expect(store.get(objectId)).rejects.toMatchObject(missing);
      expect(await namesOf(objectId)).toEqual([]);
    });

    test('delete may be repeated', async () => {
      const { objectId } = await put(Buffer.from('hello'));
      await store.confirm(objectId);
      await store.delete(objectId);
      await other.delete(objectId);
      await expect(store.get(objectId)).rejects.toMatchObject(missing);
    });

    const places = { 'at once': 0, 'after some bytes': 100_000, 'after 9 MB': 9 * MB };
    test.each(Object.entries(places))(
      'a source that fails %s leaves nothing behind',
      async (_label, after) => {
        const objectId = randomUUID();
        const failure = new Error('the client went away');
        const source = Readable.from(
          (async function* () {
            yield* chunksOf(Buffer.alloc(after));
            throw failure;
          })(),
        );
        await expect(store.put(objectId, source)).rejects.toBe(failure);
        expect(source.destroyed).toBe(true);
        expect(await namesOf(objectId)).toEqual([]);
      },
    );

    test('a source that is destroyed leaves nothing behind', async () => {
      const objectId = randomUUID();
      const source = new Readable({ read: () => undefined });
      source.push(Buffer.alloc(100_000));
      setImmediate(() => source.destroy());
      await expect(store.put(objectId, source)).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
      expect(await namesOf(objectId)).toEqual([]);
    });

    test('own uploads under way are not abandoned', async () => {
      const running = randomUUID();
      const source = new Readable({ read: () => undefined });
      source.push(Buffer.alloc(100_000));
      const upload = store.put(running, source);
      const { objectId: stored } = await put(Buffer.from('stored'));
      const { objectId: claimed } = await put(Buffer.from('claimed'));
      await store.claim(claimed, 'clinic.document-a');
      expect(await store.abandoned()).toEqual([]);
      source.push(null);
      await upload;
      expect(await store.abandoned()).toEqual([]);
      await Promise.all([running, stored, claimed].map((objectId) => store.discard(objectId)));
    });
  });

  describe('uploads of a process that was killed', () => {
    const stream = `clinic.document-${encodeURIComponent('ü/😀'.repeat(40))}`;
    const stages = {
      'while the bytes came in': { stage: 'uploading', claim: undefined, bytes: false },
      'once they were stored': { stage: 'stored', claim: undefined, bytes: true },
      'once it was claimed': { stage: 'claimed', claim: stream, bytes: true },
    };
    test.each(Object.entries(stages))('%s: it is reported and can be settled', async (_label, expected) => {
      const [confirmed, discarded] = [randomUUID(), randomUUID()];
      await killDuring({ url, stage: expected.stage, stream, objectIds: [confirmed, discarded] });

      const byId = new Map<string, AbandonedUpload>();
      await eventually(async () => {
        for (const upload of await store.abandoned()) byId.set(upload.objectId, upload);
        expect(byId.size).toBe(2);
      });
      expect(byId.get(confirmed)).toEqual({ objectId: confirmed, stream: expected.claim });
      expect(byId.get(discarded)).toEqual({ objectId: discarded, stream: expected.claim });

      await store.discard(discarded);
      await expect(store.get(discarded)).rejects.toMatchObject(missing);
      if (expected.bytes) {
        await store.confirm(confirmed);
        expect(await buffer(await other.get(confirmed))).toHaveLength(200_000);
        await store.delete(confirmed);
      } else {
        await expect(store.get(confirmed)).rejects.toMatchObject(missing);
        await store.discard(confirmed);
      }
      expect(await store.abandoned()).toEqual([]);
      expect(await contents()).toEqual([]);
    });
  });

  test('check resolves, and leaves nothing behind', async () => {
    await Promise.all([store.check(), other.check(), store.check()]);
    expect(await contents()).toEqual([]);
  });

  test('it keeps the log that it is told, for all who open it', async () => {
    expect(await store.log()).toBeUndefined();
    await store.setLog('log a');
    expect([await store.log(), await other.log()]).toEqual(['log a', 'log a']);
    await other.setLog('log b');
    expect(await store.log()).toBe('log b');
    const again = await open();
    expect(await again.log()).toBe('log b');
    await again.close();
  });
}

/** What the process that is killed runs: it says `ready` when it has come to its stage, and then waits. */
const child = `
  const { openBackend, url, stage, stream, objectIds } = JSON.parse(process.argv[1]);
  const { openDocumentStore } = await import(openBackend);
  const { Readable } = await import('node:stream');
  const store = await openDocumentStore(url);
  const sources = [];
  for (const objectId of objectIds) {
    const source = new Readable({ read() {} });
    sources.push(source);
    source.push(Buffer.alloc(200_000));
    const upload = store.put(objectId, source);
    if (stage === 'uploading') {
      while (source.readableLength > 0) await new Promise(setImmediate);
      continue;
    }
    source.push(null);
    await upload;
    if (stage === 'claimed') await store.claim(objectId, stream);
  }
  process.stdout.write('ready');
  setInterval(() => sources, 1_000);
`;

async function killDuring(work: {
  url: string;
  stage: string;
  stream: string;
  objectIds: string[];
}): Promise<void> {
  const openBackend = new URL('../../../src/server/openStorage.ts', import.meta.url).href;
  const argument = JSON.stringify({ ...work, openBackend });
  const killed: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', child, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(killed, 'exit');
  await Promise.race([
    once(killed.stdout as Readable, 'data'),
    exited.then(() => Promise.reject(new Error('it ended by itself'))),
  ]);
  killed.kill('SIGKILL');
  await exited;
}
