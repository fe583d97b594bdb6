import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError, unavailable } from '../../errors.ts';
import type { AbandonedUpload, DocumentStore, StoredDocument } from '../../ports/documentStore.ts';

const READ_BYTES = 256 * 1024;

/**
 * Documents in a folder: `objects/ab/<object id>`. While an upload is under way, `uploads/<pid>.<object id>` notes
 * whose it is, and its bytes grow in a `.part` file beside that; both are gone when it is confirmed or discarded.
 */
export class LocalDocumentStore implements DocumentStore {
  readonly #folder: string;
  /** Uploads that this instance has begun and that nobody settled yet. */
  readonly #active = new Set<string>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens the folder, and makes it when it is not there. */
  static async open(folder: string): Promise<LocalDocumentStore> {
    const store = new LocalDocumentStore(resolve(folder));
    await mkdir(join(store.#folder, 'objects'), { recursive: true });
    await mkdir(join(store.#folder, 'uploads'), { recursive: true });
    return store;
  }

  async put(objectId: string, source: Readable): Promise<StoredDocument> {
    const note = this.#notePath(objectId);
    const part = `${note}.part`;
    this.#active.add(objectId);
    try {
      await this.#io(() => writeFile(note, '', { flush: true }));
      const stored = await writeDurably(part, source);
      await this.#io(() => this.#publish(part, objectId));
      return stored;
    } catch (error) {
      await this.discard(objectId);
      throw isDiskError(error) ? unavailable('document store', error) : error;
    }
  }

  async claim(objectId: string, stream: string): Promise<void> {
    await this.#io(() => writeFile(this.#notePath(objectId), stream, { flush: true }));
  }

  async confirm(objectId: string): Promise<void> {
    await this.#io(async () => {
      for (const { name } of await this.#notes(objectId)) await rm(this.#uploadPath(name), { force: true });
    });
    this.#active.delete(objectId);
  }

  async discard(objectId: string): Promise<void> {
    await this.#io(async () => {
      await rm(this.#objectPath(objectId), { force: true });
      await this.confirm(objectId);
    });
  }

  async abandoned(): Promise<AbandonedUpload[]> {
    return this.#io(async () => {
      const uploads: AbandonedUpload[] = [];
      for (const { name, objectId, pid } of await this.#notes()) {
        if (name.endsWith('.part') || this.#active.has(objectId) || isAlive(pid)) continue;
        const stream = await readFile(this.#uploadPath(name), 'utf8');
        uploads.push({ objectId, stream: stream || undefined });
      }
      return uploads;
    });
  }

  async get(objectId: string): Promise<Readable> {
    try {
      const file = await open(this.#objectPath(objectId));
      return file.createReadStream({ highWaterMark: READ_BYTES });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        throw new ServiceError('not_found', 'The document is no longer stored.');
      }
      throw unavailable('document store', error);
    }
  }

  async delete(objectId: string): Promise<void> {
    await this.#io(() => rm(this.#objectPath(objectId), { force: true }));
  }

  async check(): Promise<void> {
    const probe = this.#uploadPath(`check-${randomUUID()}`);
    await this.#io(async () => {
      await writeFile(probe, '');
      await rm(probe);
    });
  }

  async close(): Promise<void> {}

  #objectPath(objectId: string): string {
    return join(this.#folder, 'objects', objectId.slice(-2), objectId);
  }

  #uploadPath(name: string): string {
    return join(this.#folder, 'uploads', name);
  }

  #notePath(objectId: string): string {
    return this.#uploadPath(`${process.pid}.${objectId}`);
  }

  /** Files of uploads under way, the notes and their parts: of one object, or of all. */
  async #notes(objectId = ''): Promise<{ name: string; objectId: string; pid: number }[]> {
    const names = await readdir(join(this.#folder, 'uploads'));
    return names.flatMap((name) => {
      const [, pid, id] = /^(\d+)\.([0-9a-f-]{36})(?:\.part)?$/.exec(name) ?? [];
      return pid && id?.startsWith(objectId) ? [{ name, objectId: id, pid: Number(pid) }] : [];
    });
  }

  async #publish(part: string, objectId: string): Promise<void> {
    const target = this.#objectPath(objectId);
    const folder = join(target, '..');
    await mkdir(folder, { recursive: true });
    await rename(part, target);
    await syncFolder(folder);
  }

  async #io<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof ServiceError ? error : unavailable('document store', error);
    }
  }
}

async function writeDurably(path: string, source: Readable): Promise<StoredDocument> {
  const hash = createHash('sha256');
  let size = 0;
  const file = await open(path, 'wx');
  await pipeline(
    source,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    },
    file.createWriteStream({ flush: true }),
  );
  return { size, sha256: hash.digest('hex') };
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Another process's pid; our own is an earlier process's when a container gives each the same one. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isDiskError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code === 'ENOSPC' || code === 'EIO' || code === 'EROFS' || code === 'EDQUOT' || code === 'EACCES';
}
