import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../platform/config.ts';
import { pathOf } from './openStorage.ts';

type Stores = Pick<Config, 'dataDir' | 'eventLogUrl' | 'stateUrl' | 'documentsUrl'>;

/** Returns the paths of the event log, the state and the documents, as far as they are on this machine, and their parts. */
export function localContents({ eventLogUrl, stateUrl, documentsUrl }: Stores): string[] {
  const files = [eventLogUrl, stateUrl]
    .filter((url) => url.startsWith('sqlite:'))
    .flatMap((url) => ['', '-wal', '-shm'].map((end) => pathOf(url) + end));
  // The folder itself may be where a disk is mounted.
  const documents = documentsUrl.startsWith('file:') ? contentsOf(pathOf(documentsUrl)) : [];
  return [...files, ...documents];
}

/**
 * Returns a place on this machine that is not empty, of those where the stores and the data folder of settings are: a file, or a
 * folder. Files of the data folder with the names in `allowed` do not count.
 */
export function fullPlace(stores: Stores, allowed: readonly string[] = []): string | undefined {
  const { dataDir, documentsUrl } = stores;
  const own = contentsOf(dataDir).filter((path) => !allowed.some((name) => join(dataDir, name) === path));
  if (own.length > 0) return dataDir;
  const documents = documentsUrl.startsWith('file:') ? pathOf(documentsUrl) : undefined;
  if (documents !== undefined && contentsOf(documents).length > 0) return documents;
  return localContents(stores).find((path) => existsSync(path));
}

/** Returns what is in a folder, if it exists, except for what a file system puts at its root; a file counts as its own contents. */
function contentsOf(folder: string): string[] {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (!found.isDirectory()) return [folder];
  return readdirSync(folder)
    .filter((name) => name !== 'lost+found')
    .map((name) => join(folder, name));
}
