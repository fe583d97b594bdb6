import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AbandonedUpload } from '../../documentStore.ts';
import { syncFolder } from './durableFiles.ts';
import type { UploadOwner } from './UploadOwner.ts';

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
export class LocalUploadNotes {
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
  async takeOver(): Promise<AbandonedUpload[]> {
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
