import { createHash, randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { StoredDocument } from '../../documentStore.ts';
import { giveToFolderOwner, makeOwnedFolders } from '../shared.ts';

/** Makes the entries of a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Creates a folder and its parents, durably; an existing one is not an error. */
export async function makeFolder(path: string): Promise<void> {
  for (const made of makeOwnedFolders(path).reverse()) await syncFolder(join(made, '..'));
}

/** Gives a file its final name, durably. */
export async function moveDurably(from: string, to: string): Promise<void> {
  const folder = join(to, '..');
  await makeFolder(folder);
  await rename(from, to);
  await syncFolder(folder);
}

/** Writes a new file, durably. Errors from `source` are passed through unchanged; disk operations go through `io`. */
export async function writeDurably(
  path: string,
  source: Readable,
  io: <Result>(work: () => Promise<Result>) => Promise<Result>,
): Promise<StoredDocument> {
  const hash = createHash('sha256');
  let size = 0;
  const file = await io(() => open(path, 'wx'));
  try {
    for await (const chunk of source) {
      hash.update(chunk);
      size += chunk.length;
      await io(() => file.writeFile(chunk));
    }
    await io(() => file.sync());
  } finally {
    await file.close();
  }
  return { size, sha256: hash.digest('hex') };
}

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
