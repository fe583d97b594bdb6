import { type FileHandle, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { ServiceError, unavailable } from '../../errors.ts';
import { documentNotStored } from '../../ports/documentRefusals.ts';
import type { AbandonedUpload, ByteRange, DocumentStore, StoredDocument } from '../../ports/documentStore.ts';
import { fileProblem, movedProblem } from '../fileProblem.ts';
import { OpenedFiles } from '../OpenedFiles.ts';
import { readDescription, writeDescription } from './description.ts';
import { makeFolder, moveDurably, syncFolder, writeDurably } from './durableFiles.ts';

const STORE = 'document store';
const READ_BYTES = 256 * 1024;

/** Uploads that a store of this process has begun and that nobody settled yet, by the paths of their notes. */
const running = new Set<string>();

/**
 * Documents in a folder of one machine: `objects/ab/<object id>`. While an upload is under way,
 * `uploads/<pid>.<object id>` notes whose it is, and its bytes grow in a `.part` file beside that; both are gone when
 * it is confirmed or discarded. `store.json` says what the folder is of.
 */
export class LocalDocumentStore implements DocumentStore {
  readonly #folder: string;
  readonly #opened: OpenedFiles;
  /** Held open, so that no other folder is given their numbers. */
  readonly #handles: FileHandle[];
  /** Those of the running uploads that are this store's. */
  readonly #own = new Set<string>();

  private constructor(folder: string, handles: FileHandle[]) {
    this.#folder = folder;
    this.#handles = handles;
    this.#opened = new OpenedFiles(join(folder, 'objects'), join(folder, 'uploads'));
  }

  /** Opens the folder, and makes it when it is not there. Rejects with `unavailable`. */
  static async open(path: string): Promise<LocalDocumentStore> {
    const folder = resolve(path);
    const handles: FileHandle[] = [];
    try {
      for (const name of ['objects', 'uploads']) {
        await makeFolder(join(folder, name));
        handles.push(await open(join(folder, name)));
      }
      return new LocalDocumentStore(folder, handles);
    } catch (error) {
      await Promise.all(handles.map((handle) => handle.close()));
      throw unavailable(STORE, error, fileProblem(folder, error));
    }
  }

  async put(objectId: string, source: Readable): Promise<StoredDocument> {
    const note = this.#notePath(objectId);
    const part = `${note}.part`;
    running.add(note);
    this.#own.add(note);
    try {
      await this.#io(async () => {
        await writeFile(note, '', { flush: true });
        await syncFolder(join(note, '..'));
      });
      const stored = await writeDurably(part, source, (work) => this.#onDisk(work));
      await this.#io(() => moveDurably(part, this.#objectPath(objectId)));
      this.#requireFolder();
      return stored;
    } catch (error) {
      source.destroy();
      // What cannot be removed now is found as abandoned when the service starts again.
      await this.discard(objectId).catch(() => undefined);
      throw error;
    }
  }

  async claim(objectId: string, stream: string): Promise<void> {
    await this.#io(() => writeFile(this.#notePath(objectId), stream, { flush: true }));
  }

  async confirm(objectId: string): Promise<void> {
    const noted = await this.#settle(objectId);
    if (!noted && !(await this.has(objectId))) throw documentNotStored();
  }

  /** Removes what notes an upload; false when nothing did (any more). */
  async #settle(objectId: string): Promise<boolean> {
    let noted = false;
    await this.#io(async () => {
      for (const upload of await this.#uploads()) {
        if (upload.objectId !== objectId) continue;
        // The note goes last: as long as anything is left, it can be found.
        await rm(`${upload.note}.part`, { force: true });
        await rm(upload.note, { force: true });
        running.delete(upload.note);
        this.#own.delete(upload.note);
        noted = true;
      }
    });
    return noted;
  }

  async discard(objectId: string): Promise<void> {
    await this.delete(objectId);
    await this.#settle(objectId);
  }

  async abandoned(): Promise<AbandonedUpload[]> {
    return this.#io(async () => {
      const abandoned: AbandonedUpload[] = [];
      for (const { note, objectId, pid } of await this.#uploads()) {
        if (running.has(note) || isAlive(pid)) continue;
        const stream = await readFile(note, 'utf8');
        abandoned.push({ objectId, stream: stream || undefined });
      }
      return abandoned;
    });
  }

  async get(objectId: string, range?: ByteRange): Promise<Readable> {
    const file = await this.#ifStored(() => open(this.#objectPath(objectId)));
    if (file === undefined) throw documentNotStored();
    return file.createReadStream({ highWaterMark: READ_BYTES, ...range });
  }

  async has(objectId: string): Promise<boolean> {
    return (await this.#ifStored(() => stat(this.#objectPath(objectId)))) !== undefined;
  }

  /** What is done with an object's file; undefined when there is none. */
  async #ifStored<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    return this.#io(async () => {
      try {
        return await work();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        return undefined;
      }
    });
  }

  async delete(objectId: string): Promise<void> {
    await this.#io(() => rm(this.#objectPath(objectId), { force: true }));
  }

  async log(): Promise<string | undefined> {
    return (await this.#io(() => readDescription(this.#folder))).log;
  }

  async setLog(identity: string): Promise<void> {
    await this.#io(async () =>
      writeDescription(this.#folder, { ...(await readDescription(this.#folder)), log: identity }),
    );
  }

  async check(): Promise<void> {
    const probe = join(this.#folder, 'uploads', `check-${process.pid}`);
    await this.#io(async () => {
      await writeFile(probe, '');
      await rm(probe, { force: true });
    });
  }

  async close(): Promise<void> {
    for (const note of this.#own) running.delete(note);
    await Promise.all(this.#handles.splice(0).map((handle) => handle.close()));
  }

  #objectPath(objectId: string): string {
    return join(this.#folder, 'objects', objectId.slice(-2), objectId);
  }

  #notePath(objectId: string): string {
    return join(this.#folder, 'uploads', `${process.pid}.${objectId}`);
  }

  /** Uploads under way. */
  async #uploads(): Promise<{ note: string; objectId: string; pid: number }[]> {
    const names = await readdir(join(this.#folder, 'uploads'));
    return names.flatMap((name) => {
      const [, pid, objectId] = /^(\d+)\.([0-9a-f-]{36})$/.exec(name) ?? [];
      return pid && objectId
        ? [{ note: join(this.#folder, 'uploads', name), objectId, pid: Number(pid) }]
        : [];
    });
  }

  /** Work in the folder that was opened: one that is gone (not mounted), or another one, tells nothing about documents. */
  #io<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#onDisk(async () => {
      this.#requireFolder();
      return work();
    });
  }

  async #onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw unavailable(STORE, error, fileProblem(this.#folder, error));
    }
  }

  /** Throws `unavailable` when what was opened is no longer there. */
  #requireFolder(): void {
    const moved = this.#opened.moved();
    if (moved !== undefined) throw unavailable(STORE, undefined, movedProblem(moved));
  }
}

/** Whether another process has that pid; our own is an earlier process's when a container gives each the same one. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
