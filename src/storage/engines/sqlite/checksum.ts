import { crc32 } from 'node:zlib';
import type { StoredRow } from './rowTable.ts';

/** As SQLite reports a page that is damaged in its structure. */
const SQLITE_CORRUPT = 11;

/** White space of JSON (RFC 8259, 2), which is what a checksum is written in: two bits each. */
const SPACES = [' ', '\t', '\n', '\r'];
const LENGTH = 16;
const spacesOfByte = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => SPACES[(byte >> shift) & 3]).join(''),
);

type Identified = Pick<StoredRow, 'id' | 'version'>;

/**
 * The JSON of a body, an object, behind its checksum: SQLite notices damage to the structure of a page, and none to what a row holds,
 * which would be answered as if it were true. It is still JSON, so that earlier versions of the service can read it.
 */
export function withChecksum(row: Identified, body: string): string {
  return checksumOf(row, body) + body;
}

/** The body of what `withChecksum` made. Throws as SQLite does for a damaged page, also where there is no checksum. */
export function checkedBody<Body>(row: Identified, stored: string): Body {
  if (stored.slice(0, LENGTH) !== checksumOf(row, stored.slice(LENGTH))) throw damaged();
  return parsed(stored);
}

/** The same for a store that cannot be rebuilt: a body without a checksum was written by an earlier version, and is taken as it is. */
export function checkedOrEarlierBody<Body>(row: Identified, stored: string): Body {
  return stored.startsWith('{') ? parsed(stored) : checkedBody(row, stored);
}

function parsed<Body>(stored: string): Body {
  try {
    return JSON.parse(stored) as Body;
  } catch (error) {
    throw damaged(error);
  }
}

function checksumOf({ id, version }: Identified, body: string): string {
  const sum = crc32(body, crc32(`${version} ${id}`));
  return [24, 16, 8, 0].map((shift) => spacesOfByte[(sum >>> shift) & 255]).join('');
}

function damaged(cause?: unknown): Error {
  const error = new Error('a row is damaged', { cause });
  return Object.assign(error, { code: 'ERR_SQLITE_ERROR', errcode: SQLITE_CORRUPT });
}
