import { chownSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** In how many parts the time of a limit is waited for. */
const PARTS = 8;

/**
 * Begins a time limit for an answer over the network, and calls back when it is over; returns a function that ends it. A loop that is
 * held up, by other work of this process or by a machine that does not let it run, uses up no more than an eighth, however long: after
 * that, Node runs timers before it looks at what has arrived, so a single timer would end a wait for what is there already.
 */
export function beginTimeout(ms: number, onOver: () => void): () => void {
  let left = PARTS;
  const timer = setTimeout(() => {
    left -= 1;
    if (left > 0) timer.refresh();
    else onOver();
  }, ms / PARTS);
  return () => clearTimeout(timer);
}

/** A store did not answer in time. */
export class NoAnswer extends Error {}

/** Returns the result of `work`, or rejects with `NoAnswer` when it takes longer than `ms`: see `beginTimeout`. */
export async function withTimeout<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const end = beginTimeout(ms, () => reject(new NoAnswer(`no answer within ${ms} ms`)));
  try {
    return await Promise.race([work, late]);
  } finally {
    end();
  }
}

/**
 * File operations that may hang, one at a time. Nothing cancels an operation on a disk that does not answer, and a process has four
 * places for such operations: if all were taken, log output, name look-ups, passwords and documents would hang, too.
 */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Returns the result of `work`, which begins when those before it have ended; rejects when all that takes longer than `ms`. If
   * it has not begun by then, it never does.
   */
  async within<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
    let isLate = false;
    const working = this.#last.then(() => (isLate ? Promise.reject(new Error('too late')) : work()));
    this.#last = working.catch(() => undefined);
    try {
      return await withTimeout(ms, working);
    } finally {
      isLate = true;
    }
  }
}

/** Identifies a file or folder among others of the same name; undefined when there is none. */
export function fileIdentity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * Files opened by path, whose names others may have taken since, or which may have been deleted. They must stay open: the file
 * system could otherwise reuse a deleted file's number for another file.
 */
export class OpenedFiles {
  readonly #identities: [path: string, identity: string | undefined][];

  constructor(...paths: string[]) {
    this.#identities = paths.map((path) => [path, fileIdentity(path)]);
  }

  /** Returns the first path that no longer names the file opened by it; undefined while all of them do. */
  moved(): string | undefined {
    return this.#identities.find(([path, identity]) => fileIdentity(path) !== identity)?.[0];
  }
}

type Kind =
  | 'no_folder'
  | 'too_many'
  | 'full'
  | 'damaged'
  | 'damaged_derived'
  | 'read_only'
  | 'locked'
  | 'failing'
  | 'missing'
  | 'moved';

const texts: Record<Kind, string> = {
  full: 'cannot grow: its disk or quota is full. Free space; a running service then continues without a restart.',
  damaged: 'is damaged. Stop the service and restore the file from a backup.',
  damaged_derived:
    'is damaged. Stop the service and delete the file: the next start rebuilds it from the event log.',
  read_only:
    'cannot be written: it, its folder or its file system is read-only, or of another user. Change that; a running service then continues without a restart.',
  locked: 'is locked by another process. One service works on it at a time: end the other one.',
  failing:
    'cannot be read or written: its disk fails, or a limit on the size of files is reached. Look into the system log.',
  missing: 'is not there, or may not be opened. Check the path, its mount and its permissions.',
  no_folder: 'lies in what is a file, not a folder, or is a file itself. Give another path.',
  too_many: 'cannot be opened: too many files are open. Raise the limit (ulimit -n).',
  moved:
    'was deleted or replaced while the service runs. Put the same one back; or stop the service, restore a backup and start it again.',
};

/** SQLITE_IOERR_SHMSIZE: the memory that processes share for a file is also a file, and could not grow. */
const NO_ROOM_FOR_SHARED_MEMORY = 4874;

/** SQLite's primary result codes. */
const bySqlite: Record<number, Kind> = {
  5: 'locked',
  6: 'locked',
  8: 'read_only',
  10: 'failing',
  11: 'damaged',
  13: 'full',
  14: 'missing',
  26: 'damaged',
};

const bySystem: Record<string, Kind> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'failing',
  EIO: 'failing',
  EROFS: 'read_only',
  EACCES: 'read_only',
  EPERM: 'read_only',
  ENOENT: 'missing',
  ENOTDIR: 'no_folder',
  EEXIST: 'no_folder',
  EMFILE: 'too_many',
  ENFILE: 'too_many',
  EISDIR: 'missing',
};

function kindOf(error: unknown): Kind | undefined {
  const { code, errcode } = (error ?? {}) as { code?: string; errcode?: number };
  if (errcode === NO_ROOM_FOR_SHARED_MEMORY) return 'full';
  return errcode === undefined ? bySystem[code ?? ''] : bySqlite[errcode & 0xff];
}

/**
 * Describes what is wrong with a file or folder, for operators: which one, and what to do. Undefined when an error of SQLite or
 * of the file system does not tell. `isDerived`: the service can build it anew from the event log.
 */
export function fileProblem(path: string, error: unknown, isDerived = false): string | undefined {
  const kind = kindOf(error);
  return kind && `${path} ${texts[isDerived && kind === 'damaged' ? 'damaged_derived' : kind]}`;
}

/** Whether an error of SQLite means that the file is damaged, which is permanent. */
export function isDamage(error: unknown): boolean {
  return kindOf(error) === 'damaged';
}

/** The same for a path that no longer names the file opened by it. */
export function movedProblem(path: string): string {
  return `${path} ${texts.moved}`;
}

/**
 * When running as root, gives a file or folder to the owner of its parent folder: what an operator's command creates beside a
 * service should belong to the service, not root. Ignores a missing one, and a file system that does not permit it.
 */
export function giveToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return;
  const made = statSync(path, { throwIfNoEntry: false });
  const { uid, gid } = statSync(dirname(resolve(path)));
  if (made === undefined || (made.uid === uid && made.gid === gid)) return;
  try {
    chownSync(path, uid, gid);
  } catch {
    // It stays root's; a service that cannot read it will name it.
  }
}

/** The same for a SQLite file and the files beside it. */
export function giveSqliteFile(path: string): void {
  for (const end of ['', '-wal', '-shm']) giveToFolderOwner(path + end);
}

/** Creates a folder and its missing parents, each with the owner of its parent. Returns those created, outermost first. */
export function makeOwnedFolders(path: string): string[] {
  const innermost = resolve(path);
  const first = mkdirSync(innermost, { recursive: true });
  const made: string[] = [];
  if (first === undefined) return made;
  for (let one = innermost; one.length >= first.length; one = dirname(one)) made.unshift(one);
  for (const one of made) giveToFolderOwner(one);
  return made;
}
