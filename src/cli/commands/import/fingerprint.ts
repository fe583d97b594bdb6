import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { ImportError } from './importSource.ts';

/** Texts by file name; a file that changes gets a different one. */
export type Fingerprint = Record<string, string>;

const FIRST_BYTES = 64 * 1024;

/** Returns the size, the time of the last change and the digest of the first bytes of each file. Rejects with `ImportError`. */
export async function fingerprintOf(paths: readonly string[]): Promise<Fingerprint> {
  const fingerprint: Fingerprint = {};
  for (const path of paths) fingerprint[basename(path)] = await ofFile(path);
  return fingerprint;
}

async function ofFile(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const { size, mtimeMs } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const digest = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
    return `${size} ${mtimeMs} ${digest}`;
  } catch (error) {
    throw new ImportError(
      `${path} cannot be read (${(error as { code?: string }).code ?? 'unknown reason'}).`,
    );
  }
}

/** Returns the files that have changed. */
export function changedFiles(before: Fingerprint, now: Fingerprint): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name]);
}
