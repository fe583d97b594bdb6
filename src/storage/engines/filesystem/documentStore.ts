import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import {
  type AbandonedUpload,
  type ByteRange,
  type DocumentStore,
  documentNotStored,
  type StoredDocument,
} from '../../documentStore.ts';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import { fileProblem, movedProblem, OpenedFiles, SerialQueue } from '../shared.ts';
import { makeFolder, moveDurably, syncFolder, writeDurably } from './files.ts';

interface Note {
  path: string;
  owner: string;
  objectId: string;
}

/**
 * Notes of uploads under way, `uploads/<owner>.<object id>`, each containing the stream that was claimed. A process that finds an
 * owner gone takes its notes over, so that an owner that was merely frozen can no longer settle anything. Methods reject with the
 * file system's error.
 */
class LocalUploadNotes {
  readonly #folder: string;
  readonly #owner: UploadOwner;
  /** Uploads begun by this owner and not settled yet. */
  readonly #running = new Set<string>();

  constructor(folder: string, owner: UploadOwner) {
    this.#folder = join(folder, 'uploads');
    this.#owner = owner;
  }

  /** Durable when it resolves. */
  async begin(objectId: string): Promise<void> {
    this.#running.add(objectId);
    await this.#owner.live();
    await writeFile(this.#pathOf(objectId), '', { flush: true });
    await syncFolder(this.#folder);
  }

  /** Durable when it resolves; rejects when the upload no longer belongs to this owner. */
  async claim(objectId: string, stream: string): Promise<void> {
    await writeFile(this.#pathOf(objectId), stream, { flag: 'r+', flush: true });
  }

  /** Returns the path to which the bytes of an upload are written. */
  partPath(objectId: string): string {
    return join(this.#folder, `${objectId}.part`);
  }

  /** Ends an upload of this owner; false when it is not one, or no longer. */
  async settle(objectId: string): Promise<boolean> {
    return this.#remove(objectId, ({ owner }) => owner === this.#owner.id);
  }

  /** Leaves an upload of this owner to `takeOver`. */
  abandon(objectId: string): void {
    this.#running.delete(objectId);
  }

  /** Removes all notes of an upload, regardless of owner. */
  async forget(objectId: string): Promise<void> {
    await this.#remove(objectId, () => true);
  }

  /** Returns the uploads of owners that are gone: they belong to this owner from now on. */
  async adoptUploads(): Promise<AbandonedUpload[]> {
    const taken: AbandonedUpload[] = [];
    for (const note of await this.#all()) {
      if (note.owner === this.#owner.id ? this.#running.has(note.objectId) : !(await this.#take(note)))
        continue;
      const stream = await readFile(this.#pathOf(note.objectId), 'utf8');
      taken.push({ objectId: note.objectId, stream: stream || undefined });
    }
    return taken;
  }

  async #take({ path, owner, objectId }: Note): Promise<boolean> {
    if (!(await this.#owner.isGone(owner))) return false;
    await this.#owner.live();
    try {
      await rename(path, this.#pathOf(objectId));
      await syncFolder(this.#folder);
    } catch (error) {
      // Another owner took or settled it at the same moment.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    if ((await this.#all()).every((note) => note.owner !== owner)) await this.#owner.bury(owner);
    return true;
  }

  async #remove(objectId: string, isMeant: (note: Note) => boolean): Promise<boolean> {
    const notes = (await this.#all()).filter((note) => note.objectId === objectId && isMeant(note));
    // The note is removed last: as long as anything is left, it can be found.
    if (notes.length > 0) await rm(this.partPath(objectId), { force: true });
    for (const { path } of notes) await rm(path, { force: true });
    this.#running.delete(objectId);
    return notes.length > 0;
  }

  async #all(): Promise<Note[]> {
    const names = await readdir(this.#folder);
    return names.flatMap((name) => {
      const [, owner, objectId] = /^([^.]+)\.([0-9a-f-]{36})$/.exec(name) ?? [];
      return owner && objectId ? [{ path: join(this.#folder, name), owner, objectId }] : [];
    });
  }

  #pathOf(objectId: string): string {
    return join(this.#folder, `${this.#owner.id}.${objectId}`);
  }
}

interface OwnerTiming {
  /** How often an owner signals that it is alive. */
  beatMs: number;
  /** How long an owner must have given no sign of life to count as gone. */
  goneAfterMs: number;
}

const timingByDefault: OwnerTiming = { beatMs: 2_000, goneAfterMs: 12_000 };

interface Observation {
  beat: string | undefined;
  /** On this process's monotonic clock. */
  since: number;
}

/**
 * One of the processes that upload into a folder. It signals that it is alive by repeatedly changing a file `owners/<id>`.
 * Process ids would not work, as each container has its own, nor would times, as clocks are adjusted: processes that need to know
 * watch the file on their own clock.
 */
class UploadOwner {
  readonly id = randomUUID();
  readonly #folder: string;
  readonly #timing: OwnerTiming;
  readonly #observed = new Map<string, Observation>();
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  constructor(folder: string, timing: OwnerTiming = timingByDefault) {
    this.#folder = join(folder, 'owners');
    this.#timing = timing;
  }

  /** Signals from now on that it is alive; the first signal is durable. Rejects with the file system's error. */
  async live(): Promise<void> {
    if (this.#timer !== undefined) return;
    await makeFolder(this.#folder);
    await this.#beat();
    this.#timer ??= setInterval(() => {
      // Only one at a time: on a disk that does not answer, they would take all places for file operations of the process.
      this.#beating ??= this.#beatAgain();
    }, this.#timing.beatMs);
    this.#timer.unref();
  }

  /**
   * Whether an owner has shown no sign of life for long enough since this one first asked about it; one that left has no file.
   */
  async isGone(owner: string): Promise<boolean> {
    if (owner === this.id) return false;
    const beat = await readFile(join(this.#folder, owner), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    });
    if (beat === undefined) return true;
    const now = performance.now();
    const before = this.#observed.get(owner);
    if (before?.beat === beat) return now - before.since >= this.#timing.goneAfterMs;
    this.#observed.set(owner, { beat, since: now });
    return false;
  }

  /** Removes what an owner that is gone left behind. */
  async bury(owner: string): Promise<void> {
    this.#observed.delete(owner);
    await rm(join(this.#folder, owner), { force: true });
  }

  /** From now on, its uploads are for others to settle. */
  async leave(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#beating;
    await rm(join(this.#folder, this.id), { force: true }).catch(() => undefined);
  }

  async #beatAgain(): Promise<void> {
    // An unavailable folder makes an owner seem gone: whatever it then does with its uploads is refused.
    await this.#beat().catch(() => undefined);
    this.#beating = undefined;
  }

  async #beat(): Promise<void> {
    this.#beats += 1;
    const shown = { host: hostname(), pid: process.pid, beat: this.#beats };
    await writeFile(join(this.#folder, this.id), `${JSON.stringify(shown)}\n`, { flush: this.#beats === 1 });
  }
}

/** A documents folder's description of itself; other versions of the service may add members. */
interface Description {
  /** Identity of the event log whose events name the documents. */
  log?: string;
  /** See `STORE_FORMAT`; missing in one of version 0.1.0. */
  format?: number;
  [more: string]: unknown;
}

const NAME = 'store.json';

/** Returns an empty one when none was written yet. Rejects with the file system's error, and as `isEarlierFormat` throws. */
async function readDescription(folder: string): Promise<Description> {
  const text = await readFile(join(folder, NAME), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  const description: Description = JSON.parse(text);
  isEarlierFormat(folder, description.format ?? 0);
  return description;
}

/** Says which log the folder belongs to, in this program's format. Durable when it resolves; rejects as `readDescription` does. */
async function describeFolder(folder: string, log: string): Promise<void> {
  const before = await readDescription(folder);
  if (before.log === log && before.format === STORE_FORMAT) return;
  const description: Description = { ...before, log, format: STORE_FORMAT };
  const draft = join(folder, `${NAME}.${process.pid}`);
  await rm(draft, { force: true });
  await writeDurably(draft, Readable.from([Buffer.from(`${JSON.stringify(description)}\n`)]), (work) =>
    work(),
  );
  await moveDurably(draft, join(folder, NAME));
}

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
  readonly #checks = new SerialQueue();
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

  async keep(objectId: string): Promise<void> {
    await this.#io(() => this.#notes.forget(objectId));
  }

  async discard(objectId: string): Promise<void> {
    this.#notes.abandon(objectId);
    await this.delete(objectId);
    await this.#io(() => this.#notes.forget(objectId));
  }

  abandoned(): Promise<AbandonedUpload[]> {
    // Only one at a time, as callers ask at intervals, whether or not the disk answers.
    this.#takingOver ??= this.#io(() => this.#notes.adoptUploads()).finally(() => {
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
