import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { ServiceError } from '../../platform/errors.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import { type BackupFile, oneChunk, sha256 } from './manifest.ts';

/** Characters per file before compression: a file is in memory as a whole. The line that exceeds the limit is its last one. */
const MAX_LENGTH = 8 * 1024 * 1024;
/** Lines per file. */
export const MAX_LINES = 10_000;

/**
 * Writes values as files of JSON lines, compressed. Their names start with `name`, and are not used by other files. `onFile` is
 * called for each with the values it contains, once it is stored.
 */
export async function writeLineFiles<Value>(
  target: BackupTarget,
  nameOf: (first: Value) => string,
  values: AsyncIterable<Value> | Iterable<Value>,
  onFile: (file: BackupFile, values: Value[]) => void,
): Promise<void> {
  let lines: string[] = [];
  let held: Value[] = [];
  let length = 0;
  const flush = async () => {
    if (held.length === 0) return;
    onFile(await writeLines(target, nameOf(held[0] as Value), lines), held);
    [lines, held, length] = [[], [], 0];
  };
  for await (const value of values) {
    const line = JSON.stringify(value);
    lines.push(line);
    held.push(value);
    length += line.length;
    if (length >= MAX_LENGTH || held.length === MAX_LINES) await flush();
  }
  await flush();
}

async function writeLines(target: BackupTarget, name: string, lines: string[]): Promise<BackupFile> {
  const bytes = await promisify(gzip)(lines.map((line) => `${line}\n`).join(''));
  const file = {
    name: `${name}-${randomUUID().slice(0, 8)}.ndjson.gz`,
    bytes: bytes.length,
    sha256: sha256(bytes),
  };
  await target.write(file.name, oneChunk(bytes));
  return file;
}

/** Returns the bytes of a file. Rejects with `conflict` when it is missing, or differs from the one named in the manifest. */
export async function readFile(target: BackupTarget, { name, sha256: digest }: BackupFile): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await buffer(await target.read(name));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found')
      throw damaged(target, name, 'is missing');
    throw error;
  }
  if (sha256(bytes) !== digest) throw damaged(target, name, 'was changed');
  return bytes;
}

/** Returns the values in a file written by `writeLineFiles`. Rejects as `readFile` does. */
export async function readLines<Value>(target: BackupTarget, file: BackupFile): Promise<Value[]> {
  const text = (await promisify(gunzip)(await readFile(target, file))).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** The error for an unusable file of a backup. */
export function damaged({ place }: BackupTarget, name: string, what: string): ServiceError {
  return new ServiceError('conflict', `The file ${name} of the backup in ${place} ${what}.`);
}
