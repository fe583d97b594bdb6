import { randomUUID } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveToFolderOwner, makeOwnedFolders } from '../folderOwner.ts';
import { moveDurably, syncFolder } from './durableFiles.ts';

/** Returns the secret in a file; undefined when there is none. Rejects with the file system's error. */
export async function readSecretFile(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Returns the secret in a file readable only by its owner, durably created with `generate` when it does not exist. Of several
 * processes that create it at once one wins, and all use its secret. Rejects with the file system's error.
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

/** Durably replaces the secret in a file. Rejects with the file system's error. */
export async function replaceSecretFile(path: string, secret: Buffer): Promise<void> {
  await moveDurably(await draftOf(path, secret), path);
}

/** Writes a secret to a file beside another one, accessible only to its owner. */
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
