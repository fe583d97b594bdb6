import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { resultCode, TRY_MS, untilFree } from './database.ts';
import type { PurgeAnswer } from './file.ts';
import { mergeTermIndexes } from './queries.ts';

/** How long the file is held without a break. */
const HOLD_MS = 20;
/** How long others can have it then: in the first tenth of a second, whoever waits for a SQLite file asks at least every 25 ms. */
const PAUSE_MS = 50;
const PAGES_A_READ = 64;
/** From here on, the first byte of an overflow page could be that of a B-tree page. */
const MAX_PAGES = 2 ** 25;

/** What the header of the file says about its pages. */
interface Layout {
  pageBytes: number;
  pages: number;
}

const [, , path = ''] = process.argv;

/** Empties the write-ahead log; first without holding anyone up, so that little is left to do while others wait. */
function emptyLog(db: DatabaseSync): boolean {
  db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0;
}

function layoutOf(db: DatabaseSync): Layout {
  const pragmaOf = (pragma: string) => Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
  const pages = pragmaOf('page_count');
  if (pragmaOf('auto_vacuum') !== 0 || pages >= MAX_PAGES) throw new Error('unexpected layout of the file');
  return { pageBytes: pragmaOf('page_size'), pages };
}

/** Overwrites the free space in all pages, part by part. Pages that are added meanwhile contain no copies of what was removed. */
async function overwriteFreeSpace(db: DatabaseSync): Promise<void> {
  const layout = layoutOf(db);
  const file = openSync(path, 'r+');
  try {
    for (let next = 0; next < layout.pages; await sleep(PAUSE_MS)) {
      await untilFree(() => {
        const reached = emptyLog(db) ? overwritePart(db, file, layout, next) : next;
        const isDone = reached > next;
        next = reached;
        return isDone;
      });
    }
    fsyncSync(file);
  } finally {
    // The last connection of this process goes first: see `purgeFreeSpace`.
    db.close();
    closeSync(file);
  }
}

/**
 * Overwrites the free space in the pages from one on, and returns where it stopped. Nobody writes meanwhile, and all contents are
 * in the file itself, as its write-ahead log is empty; readers do not look at free space. Returns the same page when another
 * connection wrote something before it could begin.
 */
function overwritePart(db: DatabaseSync, file: number, layout: Layout, first: number): number {
  const until = performance.now() + HOLD_MS;
  db.exec('BEGIN IMMEDIATE');
  try {
    if (statSync(`${path}-wal`).size > 0) return first;
    let [next, overwritten] = [first, 0];
    while (next < layout.pages && performance.now() < until) {
      const count = Math.min(PAGES_A_READ, layout.pages - next);
      overwritten += overwritePages(file, layout.pageBytes, next, count);
      next += count;
    }
    if (overwritten > 0) {
      // A commit makes every connection drop the pages that it remembers, with their free space.
      const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
      db.exec(`PRAGMA user_version = ${version}; COMMIT`);
    }
    return next;
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

/** Overwrites the free space in some pages; returns in how many places there was something. */
function overwritePages(file: number, pageBytes: number, first: number, count: number): number {
  const bytes = Buffer.alloc(count * pageBytes);
  const read = readSync(file, bytes, 0, bytes.length, first * pageBytes);
  const zeros = Buffer.alloc(pageBytes);
  let overwritten = 0;
  for (let at = 0; at + pageBytes <= read; at += pageBytes) {
    const page = bytes.subarray(at, at + pageBytes);
    // The first page begins with the header of the file.
    for (const [start, end] of freeSpace(page, first === 0 && at === 0 ? 100 : 0)) {
      if (end <= start || page.subarray(start, end).equals(zeros.subarray(start, end))) continue;
      writeSync(file, zeros, 0, end - start, first * pageBytes + at + start);
      overwritten += 1;
    }
  }
  return overwritten;
}

/**
 * Returns the unallocated space of a B-tree page, between its cell pointers and its cells, and its free blocks, as in SQLite's
 * description of its file format; nothing for other pages, which `secure_delete` overwrites when they become free.
 */
function freeSpace(page: Buffer, header: number): [start: number, end: number][] {
  const type = page[header] as number;
  const isInterior = type === 2 || type === 5;
  if (!isInterior && type !== 10 && type !== 13) return [];
  const pointers = header + (isInterior ? 12 : 8) + 2 * page.readUInt16BE(header + 3);
  const cells = page.readUInt16BE(header + 5) || 65_536;
  if (pointers > cells || cells > page.length) return [];
  const found: [number, number][] = [[pointers, cells]];
  for (let block = page.readUInt16BE(header + 1); block >= cells && block + 4 <= page.length; ) {
    // Its first bytes are the place of the next block, and its own size.
    found.push([block + 4, Math.min(block + page.readUInt16BE(block + 2), page.length)]);
    const next = page.readUInt16BE(block);
    block = next > block ? next : 0;
  }
  return found;
}

async function purge(): Promise<void> {
  const db = new DatabaseSync(path, { timeout: TRY_MS });
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON');
  let until = performance.now() + HOLD_MS;
  for (const step of mergeTermIndexes(db)) {
    if (performance.now() > until) {
      await sleep(PAUSE_MS);
      until = performance.now() + HOLD_MS;
    }
    await untilFree(() => {
      step();
      return true;
    });
  }
  await untilFree(() => emptyLog(db));
  await overwriteFreeSpace(db);
  const last = new DatabaseSync(path, { timeout: TRY_MS });
  await untilFree(() => emptyLog(last));
  last.close();
}

function send(answer: PurgeAnswer): void {
  process.send?.(answer, () => process.exit());
}

process.on('disconnect', () => process.exit());
try {
  await purge();
  send({ purged: true });
} catch (error) {
  send({ errcode: resultCode(error) });
}
