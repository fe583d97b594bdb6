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
  full: 'cannot grow: its disk or quota is full. Free space; a running service then goes on by itself.',
  damaged: 'is damaged. Stop the service and restore the file from a backup.',
  damaged_derived:
    'is damaged. Stop the service and delete the file: the next start builds it anew from the event log.',
  read_only:
    'cannot be written: it, its folder or its file system is read-only, or of another user. Change that; a running service then goes on by itself.',
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
