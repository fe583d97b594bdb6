import { randomUUID } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveToFolderOwner, makeOwnedFolders } from '../folderOwner.ts';
import { moveDurably, syncFolder } from './durableFiles.ts';

/** The secret in a file; undefined where there is none. Rejects with the file system's error. */
export async function readSecretFile(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * The secret in a file that its owner alone may read, made by `generate`, durably, when it is not there. Of several processes that
 * make it at once one wins, and all get its secret. Rejects with the file system's error.
 */
export async function secretFile(path: string, generate: () => Buffer): Promise<Buffer> {
  const found = await readSecretFile(path);
  if (found) return found;
  makeOwnedFolders(dirname(path));
  const draft = await draftOf(path, generate());
  try {
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await syncFolder(dirname(path));
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path);
}

/** Puts a secret in the place of the one in a file, durably. Rejects with the file system's error. */
export async function replaceSecretFile(path: string, secret: Buffer): Promise<void> {
  await moveDurably(await draftOf(path, secret), path);
}

/** A file beside another one with a secret, for its owner alone. */
async function draftOf(path: string, secret: Buffer): Promise<string> {
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(secret);
    await file.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  giveToFolderOwner(draft);
  return draft;
}
