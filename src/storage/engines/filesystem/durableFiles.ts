import { createHash } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { StoredDocument } from '../../documentStore.ts';
import { makeOwnedFolders } from '../folderOwner.ts';

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
