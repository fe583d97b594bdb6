import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { FolderLock } from '../../warehouse.ts';
import { OpenedFiles } from '../shared.ts';

/** The file that is locked; it stays empty. Readers of data ignore names that begin so. */
const LOCK_FILE = '_lock';
const SQLITE_BUSY = 5;

/** Returns the lock of a folder, or undefined while another process has it. Throws the error of SQLite. */
export function lockFolder(folder: string): FolderLock | undefined {
  const path = join(folder, LOCK_FILE);
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  const opened = new OpenedFiles(path);
  return { isHeld: () => opened.moved() === undefined, release: () => db.close() };
}
