import type { Readable } from 'node:stream';
import { ServiceError } from '../../platform/errors.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import { damaged, readLines, writeLineFiles } from './lineFiles.ts';
import type { BackupFile } from './manifest.ts';
import type { WantedObject } from './WantedObject.ts';

/** Bytes of the document store in a backup. `document` is also absent if an earlier version of the service wrote them. */
export interface StoredObject extends Pick<WantedObject, 'id' | 'sha256' | 'document'> {
  bytes: number;
}

/** An object that was gone when its turn came, as its document had been replaced and purged. */
interface GoneObject {
  id: string;
  gone: true;
}

/** What a backup knows of an object. */
export type IndexedObject = StoredObject | GoneObject;

/** Returns the objects of a backup by id. Rejects as `readLines` does. */
export async function readIndex(
  target: BackupTarget,
  files: readonly BackupFile[],
): Promise<Map<string, IndexedObject>> {
  const index = new Map<string, IndexedObject>();
  for (const file of files) {
    for (const object of await readLines<IndexedObject>(target, file)) index.set(object.id, object);
  }
  return index;
}

export async function writeIndex(
  target: BackupTarget,
  index: ReadonlyMap<string, IndexedObject>,
): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  await writeLineFiles(
    target,
    () => 'objects',
    index.values(),
    (file) => files.push(file),
  );
  return files;
}

/** Returns the bytes of an object. Rejects with `conflict` when its file is missing. */
export async function readObject(target: BackupTarget, { id }: StoredObject): Promise<Readable> {
  const name = objectName(id);
  try {
    return await target.read(name);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found')
      throw damaged(target, name, 'is missing');
    throw error;
  }
}

/** Returns the objects of an index whose bytes are in the backup. */
export function storedObjects(index: ReadonlyMap<string, IndexedObject>): StoredObject[] {
  return [...index.values()].filter((object): object is StoredObject => !('gone' in object));
}

/** Returns the name of the file with the bytes of an object. */
export function objectName(id: string): string {
  return `objects/${id.slice(-2)}/${id}`;
}
