import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ImportError } from './importSource.ts';

/** Far more than the service accepts as one record; a longer "line" means that the file is something else. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

export interface Line {
  /** From 1. */
  number: number;
  /** Without its LF; the CR of a CRLF is kept. */
  text: string;
}

/**
 * Yields the lines of a text file, which may be compressed (`.gz`), without its byte order mark; bytes that are not UTF-8 become
 * U+FFFD (see `isUtf8`). Lines end with LF only: node:readline would also split at U+2028, which JSON strings may contain.
 * Rejects with `ImportError` when the file cannot be read or has no lines.
 */
export async function* readLines(path: string, maxLength = MAX_LINE_LENGTH): AsyncGenerator<Line> {
  let rest = '';
  let number = 0;
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    if (rest.length > maxLength) {
      const most = `${maxLength / MEBIBYTE} MB`;
      throw new ImportError(
        `${basename(path)} has a line longer than ${most}: it is neither CSV nor NDJSON.`,
      );
    }
    for (const line of lines) yield { number: ++number, text: line };
  }
  if (rest !== '') yield { number: ++number, text: rest };
}

/**
 * Whether a text read here was UTF-8. Guessing at names in another encoding would corrupt them, and one that contains U+FFFD was
 * already corrupted.
 */
export function isUtf8(text: string): boolean {
  return !text.includes('\uFFFD');
}

function openBytes(path: string): Readable {
  const file = createReadStream(path);
  // The reader receives any errors.
  return path.endsWith('.gz') ? pipeline(file, createGunzip(), () => undefined) : file;
}

async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8');
  try {
    for await (const chunk of openBytes(path)) yield decoder.decode(chunk, { stream: true });
  } catch (error) {
    const { code } = error as { code?: string };
    throw new ImportError(`${path} cannot be read (${code ?? 'unknown reason'}).`);
  }
  yield decoder.decode();
}
