import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { moveDurably, writeDurably } from './durableFiles.ts';

/** A documents folder's description of itself; other versions of the service may add members. */
export interface Description {
  /** Identity of the event log whose events name the documents. */
  log?: string;
  [more: string]: unknown;
}

const NAME = 'store.json';

/** Returns an empty one when none was written yet. Rejects with the file system's error. */
export async function readDescription(folder: string): Promise<Description> {
  try {
    return JSON.parse(await readFile(join(folder, NAME), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

/** Durable when it resolves. Rejects with the file system's error. */
export async function writeDescription(folder: string, description: Description): Promise<void> {
  const draft = join(folder, `${NAME}.${process.pid}`);
  await rm(draft, { force: true });
  await writeDurably(draft, Readable.from([Buffer.from(`${JSON.stringify(description)}\n`)]), (work) =>
    work(),
  );
  await moveDurably(draft, join(folder, NAME));
}
