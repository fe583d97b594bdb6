import { type FileHandle, open, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { documentNotStored } from '../../documentNotStored.ts';
import type { AbandonedUpload, ByteRange, DocumentStore, StoredDocument } from '../../documentStore.ts';
import { fileProblem, movedProblem } from '../fileProblem.ts';
import { OneAtATime } from '../OneAtATime.ts';
import { OpenedFiles } from '../OpenedFiles.ts';
import { describeFolder, readDescription } from './description.ts';
import { makeFolder, moveDurably, writeDurably } from './durableFiles.ts';
import { LocalUploadNotes } from './LocalUploadNotes.ts';
import { type OwnerTiming, UploadOwner } from './UploadOwner.ts';

const STORE = 'document store';
const READ_BYTES = 256 * 1024;
const CHECK_MS = 3_000;
/** An empty file would fit on a full disk. */
const PROBE = Buffer.alloc(4_096);

/**
 * Documents in a folder of one machine: `objects/ab/<object id>`. While an upload is under way, a note in `uploads` says whose it
 * is, and its bytes are written to a `.part` file beside that; both are removed when it is confirmed or discarded. `store.json`
 * says what the folder belongs to, `owners` who uploads into it.
 */
export class LocalDocumentStore implements DocumentStore {
  readonly #folder: string;
  readonly #opened: OpenedFiles;
  /** Kept open, so that their numbers are not reused for other folders. */
  readonly #handles: FileHandle[];
  readonly #owner: UploadOwner;
  readonly #notes: LocalUploadNotes;
  readonly #checks = new OneAtATime();
  #takingOver: Promise<AbandonedUpload[]> | undefined;

  private constructor(folder: string, handles: FileHandle[], timing: OwnerTiming | undefined) {
    this.#folder = folder;
    this.#owner = new UploadOwner(folder, timing);
    this.#notes = new LocalUploadNotes(folder, this.#owner);
    this.#handles = handles;
    this.#opened = new OpenedFiles(join(folder, 'objects'), join(folder, 'uploads'));
  }

  /** Opens the folder, creating it when it does not exist. Rejects with `unavailable`. */
  static async open(path: string, timing?: OwnerTiming): Promise<LocalDocumentStore> {
    const folder = resolve(path);
    const handles: FileHandle[] = [];
    try {
      for (const name of ['objects', 'uploads']) {
        await makeFolder(join(folder, name));
        handles.push(await open(join(folder, name)));
      }
      return new LocalDocumentStore(folder, handles, timing);
    } catch (error) {
      await Promise.all(handles.map((handle) => handle.close()));
      throw unavailable(STORE, error, fileProblem(folder, error));
    }
  }

  async put(objectId: string, source: Readable): Promise<StoredDocument> {
    const part = this.#notes.partPath(objectId);
    try {
      await this.#io(() => this.#notes.begin(objectId));
      const stored = await writeDurably(part, source, (work) => this.#onDisk(work));
      await this.#io(() => moveDurably(part, this.#objectPath(objectId)));
      this.#requireFolder();
      return stored;
    } catch (error) {
      source.destroy();
      // What cannot be removed now is later found as abandoned.
      await this.discard(objectId).catch(() => undefined);
      throw error;
    }
  }

  async claim(objectId: string, stream: string): Promise<void> {
    await this.#io(() => this.#notes.claim(objectId, stream));
  }

  async confirm(objectId: string): Promise<void> {
    if (!(await this.#io(() => this.#notes.settle(objectId)))) throw documentNotStored();
  }

  async discard(objectId: string): Promise<void> {
    this.#notes.abandon(objectId);
    await this.delete(objectId);
    await this.#io(() => this.#notes.forget(objectId));
  }

  abandoned(): Promise<AbandonedUpload[]> {
    // Only one at a time, as callers ask at intervals, whether or not the disk answers.
    this.#takingOver ??= this.#io(() => this.#notes.takeOver()).finally(() => {
      this.#takingOver = undefined;
    });
    return this.#takingOver;
  }

  async get(objectId: string, range?: ByteRange): Promise<Readable> {
    const file = await this.#ifStored(() => open(this.#objectPath(objectId)));
    if (file === undefined) throw documentNotStored();
    return file.createReadStream({ highWaterMark: READ_BYTES, ...range });
  }

  async has(objectId: string): Promise<boolean> {
    return (await this.#ifStored(() => stat(this.#objectPath(objectId)))) !== undefined;
  }

  /** Returns the result of an operation on an object's file; undefined when there is none. */
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
    await this.#io(() => describeFolder(this.#folder, identity));
  }

  async check(): Promise<void> {
    const probe = join(this.#folder, 'uploads', `check-${this.#owner.id}`);
    const write = async () => {
      this.#requireFolder();
      try {
        await writeFile(probe, PROBE);
      } finally {
        await rm(probe, { force: true });
      }
    };
    await this.#onDisk(() => this.#checks.within(CHECK_MS, write));
  }

  async close(): Promise<void> {
    await this.#owner.leave();
    await Promise.all(this.#handles.splice(0).map((handle) => handle.close()));
  }

  #objectPath(objectId: string): string {
    return join(this.#folder, 'objects', objectId.slice(-2), objectId);
  }

  /** Runs an operation in the opened folder: a missing one (not mounted), or a different one, says nothing about documents. */
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

  /** Throws `unavailable` when the opened folder is no longer there. */
  #requireFolder(): void {
    const moved = this.#opened.moved();
    if (moved !== undefined) throw unavailable(STORE, undefined, movedProblem(moved));
  }
}
