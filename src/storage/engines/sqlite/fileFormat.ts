import type { DatabaseSync } from 'node:sqlite';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';

/**
 * Marks a file as one that this program writes (`PRAGMA user_version`); returns the value that it had: 0 for a new file. Throws,
 * before anything is written, when the file is of a later format, and SQLite's errors.
 */
export function raiseFormat(db: DatabaseSync, path: string): number {
  const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (isEarlierFormat(path, format)) db.exec(`PRAGMA user_version = ${STORE_FORMAT}`);
  return format;
}
