import { chownSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * As root, gives a file or folder to the owner of the folder that it is in: what an operator's command makes beside a
 * service is the service's, not root's. One that is not there is none of its business, nor is a file system that
 * does not let it.
 */
export function giveToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return;
  const made = statSync(path, { throwIfNoEntry: false });
  const { uid, gid } = statSync(dirname(resolve(path)));
  if (made === undefined || (made.uid === uid && made.gid === gid)) return;
  try {
    chownSync(path, uid, gid);
  } catch {
    // It stays root's; a service that cannot read it names it.
  }
}

/** The same for a SQLite file with those beside it. */
export function giveSqliteFile(path: string): void {
  for (const end of ['', '-wal', '-shm']) giveToFolderOwner(path + end);
}

/** Makes a folder and those above it that are not there, each of its folder's owner. Gives those it made, outermost first. */
export function makeOwnedFolders(path: string): string[] {
  const innermost = resolve(path);
  const first = mkdirSync(innermost, { recursive: true });
  const made: string[] = [];
  if (first === undefined) return made;
  for (let one = innermost; one.length >= first.length; one = dirname(one)) made.unshift(one);
  for (const one of made) giveToFolderOwner(one);
  return made;
}
