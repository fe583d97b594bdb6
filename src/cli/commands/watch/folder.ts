import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, mkdir, readdir, rename, rm, rmdir, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { CommandError } from '../../lib/terminal.ts';

/** After this time without a sign of life, what another machine has taken is taken over. */
const ABANDONED_MS = 120_000;
const OWNER_ONLY = 0o700;
/** How senders call a file that they have not finished. */
const UNFINISHED = /^\.|\.(?:tmp|part|partial|filepart|writing|crdownload)$/i;
const FORMATS = /\.(?:csv|ndjson|ndjson\.gz|json|hl7)$/i;

/** A file that was taken, in a folder of its own within `working`. */
export interface Claim {
  /** Unique; it stays the same when another process takes the file over. */
  id: string;
  folder: string;
  /** Name of the file, as it was dropped. */
  name: string;
}

/** Claims of this process: those of an earlier one may have had the same process id. */
const held = new Set<string>();

/** The owner is part of the folder's name, so that a rename changes it at one stroke, for one process. */
function folderName(id: string): string {
  return `${id}@${hostname()}~${process.pid}`;
}

/** A folder where files are dropped: each is taken by one process, and moved to `done` or `failed`. */
export class DropFolder {
  readonly #path: string;
  readonly #settleMs: number;
  /** Size and times of files, as they were last seen. */
  #seen = new Map<string, string>();

  private constructor(path: string, settleMs: number) {
    this.#path = path;
    this.#settleMs = settleMs;
  }

  /** Opens a folder, in which a file is complete once it has not changed for a time. Rejects with `CommandError`. */
  static async open(path: string, settleSeconds: number): Promise<DropFolder> {
    for (const name of ['working', 'done', 'failed']) {
      await mkdir(join(path, name), { recursive: true, mode: OWNER_ONLY }).catch((error) => {
        throw new CommandError(`The folder ${join(path, name)} cannot be created (${error.code}).`);
      });
    }
    return new DropFolder(path, settleSeconds * 1000);
  }

  /** Takes what processes that ended have left unfinished, the earliest first. */
  async abandoned(now: number): Promise<Claim[]> {
    const claims: Claim[] = [];
    for (const taken of (await this.#names('working')).toSorted()) {
      const [, id = '', host = '', pid = ''] = /^([^@]+)@(.+)~(\d+)$/.exec(taken) ?? [];
      if (id === '' || held.has(id)) continue;
      const before = join(this.#path, 'working', taken);
      if (!(await this.#isAbandoned(before, host, Number(pid), now))) continue;
      const folder = join(this.#path, 'working', folderName(id));
      held.add(id);
      const isOurs = before === folder || (await rename(before, folder).then(...isDone));
      const name = isOurs ? (await this.#names(join('working', folderName(id)))).find(isDropped) : undefined;
      if (name !== undefined) claims.push({ id, folder, name });
      else {
        held.delete(id);
        // The file was moved, or never came.
        if (isOurs) await rm(folder, { recursive: true, force: true });
      }
    }
    return claims;
  }

  async #isAbandoned(folder: string, host: string, pid: number, now: number): Promise<boolean> {
    if (host === hostname()) return pid === process.pid || !isRunning(pid);
    const found = await lstat(folder).catch(() => undefined);
    return found !== undefined && found.mtimeMs + ABANDONED_MS < now;
  }

  /**
   * Takes the complete files, the earliest first; `isOnce`: without having seen them before. Others may take files from the same
   * folder: each is taken by one. Rejects with the file system's error, after all others, when some must not be moved.
   */
  async *complete(now: number, isOnce: boolean): AsyncGenerator<Claim> {
    const files: { name: string; mtimeMs: number }[] = [];
    const seen = new Map<string, string>();
    for (const name of (await this.#names('.')).filter((one) => FORMATS.test(one) && !UNFINISHED.test(one))) {
      const found = await lstat(join(this.#path, name)).catch(() => undefined);
      if (!found?.isFile()) continue;
      const looks = signature(found);
      seen.set(name, looks);
      const isOld = Math.max(found.mtimeMs, found.ctimeMs) + this.#settleMs <= now;
      if (isOld && (isOnce || this.#seen.get(name) === looks)) files.push({ name, mtimeMs: found.mtimeMs });
    }
    this.#seen = seen;
    let refusal: unknown;
    for (const { name } of files.toSorted((a, b) => a.mtimeMs - b.mtimeMs || (a.name < b.name ? -1 : 1))) {
      const claim = await this.#take(name).catch((error) => {
        refusal = error;
      });
      if (claim) yield claim;
    }
    if (refusal !== undefined) throw refusal;
  }

  /** Returns undefined when another process was faster. Rejects with the file system's error. */
  async #take(name: string): Promise<Claim | undefined> {
    const id = `${new Date().toISOString().replace(/[-:.]/g, '')}-${randomBytes(3).toString('hex')}`;
    const folder = join(this.#path, 'working', folderName(id));
    held.add(id);
    try {
      await mkdir(folder, { mode: OWNER_ONLY });
      await rename(join(this.#path, name), join(folder, name));
      return { id, folder, name };
    } catch (error) {
      held.delete(id);
      await rmdir(folder).catch(() => undefined);
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Shows others that a claim is being worked on. */
  async touch({ folder }: Claim): Promise<void> {
    const now = new Date();
    await utimes(folder, now, now).catch(() => undefined);
  }

  /**
   * Moves a file and its reports to `done` or `failed`, the file last; `reports`: names in the claim's folder, by ending. Rejects
   * with the file system's error.
   */
  async finish(
    { id, folder, name }: Claim,
    outcome: 'done' | 'failed',
    reports: Record<string, string>,
  ): Promise<void> {
    const target = join(this.#path, outcome, `${id}-${name}`);
    for (const [ending, report] of Object.entries(reports)) {
      await rename(join(folder, report), `${target}.${ending}`).catch((error) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
    await rename(join(folder, name), target);
    await rm(folder, { recursive: true, force: true });
    held.delete(id);
  }

  /** Releases a claim, for another process to continue. */
  release({ id }: Claim): void {
    held.delete(id);
  }

  async #names(within: string): Promise<string[]> {
    return readdir(join(this.#path, within)).catch((error) => {
      throw new CommandError(`The folder ${join(this.#path, within)} cannot be read (${error.code}).`);
    });
  }
}

const isDone = [() => true, () => false] as const;

/** Names of files that reports and the progress have in the folder of a claim. */
export const ownNames = {
  report: '.report.json',
  rejects: '.rejected.ndjson',
  warnings: '.warnings.ndjson',
  state: '.import.state.json',
};

function isDropped(name: string): boolean {
  return !name.startsWith('.');
}

/** What shows that a file was changed. */
export function signature({ size, mtimeMs, ino }: Stats): string {
  return JSON.stringify([size, mtimeMs, ino]);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
