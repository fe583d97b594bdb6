import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';

/** How long one try waits for others, who may be waiting for it meanwhile. */
export const TRY_MS = 250;
const PAUSE_MS = 100;
/** How long a step is tried. */
const BOUND_MS = 10_000;
const SQLITE_BUSY = 5;

/** Repeats one step until nobody holds the file, for a bounded time. Throws SQLite's errors. */
export async function untilFree(step: () => boolean): Promise<void> {
  for (const until = performance.now() + BOUND_MS; ; await sleep(PAUSE_MS)) {
    try {
      if (step()) return;
      if (performance.now() > until) throw Object.assign(new Error('busy'), { errcode: SQLITE_BUSY });
    } catch (error) {
      if (resultCode(error) !== SQLITE_BUSY || performance.now() > until) throw error;
    }
  }
}

/** How long a connection waits for others that write. */
export const BUSY_MS = 2_500;
/** How long SQLite itself waits in one try: at most 5 ms between two looks. */
const LOOK_MS = 8;

/**
 * Begins a transaction that writes, once nobody else does. In a longer wait SQLite retries only every 100 ms: a process that commits
 * without a pause, as an erasure does, would keep all others out for seconds. Throws SQLite's errors.
 */
export function beginImmediate(db: DatabaseSync): void {
  db.exec(`PRAGMA busy_timeout = ${LOOK_MS}`);
  try {
    for (const until = performance.now() + BUSY_MS; ; ) {
      try {
        db.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (resultCode(error) !== SQLITE_BUSY || performance.now() > until) throw error;
      }
    }
  } finally {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  }
}

/** Returns the primary result code of SQLite's error; undefined for any other. */
export function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}

/**
 * Marks a file as one that this program writes (`PRAGMA user_version`); returns the value that it had: 0 for a new file. Throws,
 * before anything is written, when the file is of a later format, and SQLite's errors.
 */
export function raiseFormat(db: DatabaseSync, path: string): number {
  const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (isEarlierFormat(path, format)) db.exec(`PRAGMA user_version = ${STORE_FORMAT}`);
  return format;
}
