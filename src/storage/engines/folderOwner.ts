import { chownSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

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
