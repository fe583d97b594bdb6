import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import { moveDurably, writeDurably } from './durableFiles.ts';

/** A documents folder's description of itself; other versions of the service may add members. */
export interface Description {
  /** Identity of the event log whose events name the documents. */
  log?: string;
  /** See `STORE_FORMAT`; missing in one of version 0.1.0. */
  format?: number;
  [more: string]: unknown;
}

const NAME = 'store.json';

/** Returns an empty one when none was written yet. Rejects with the file system's error, and as `isEarlierFormat` throws. */
export async function readDescription(folder: string): Promise<Description> {
  const text = await readFile(join(folder, NAME), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  const description: Description = JSON.parse(text);
  isEarlierFormat(folder, description.format ?? 0);
  return description;
}

/** Says which log the folder belongs to, in this program's format. Durable when it resolves; rejects as `readDescription` does. */
export async function describeFolder(folder: string, log: string): Promise<void> {
  const before = await readDescription(folder);
  if (before.log === log && before.format === STORE_FORMAT) return;
  const description: Description = { ...before, log, format: STORE_FORMAT };
  const draft = join(folder, `${NAME}.${process.pid}`);
  await rm(draft, { force: true });
  await writeDurably(draft, Readable.from([Buffer.from(`${JSON.stringify(description)}\n`)]), (work) =>
    work(),
  );
  await moveDurably(draft, join(folder, NAME));
}
