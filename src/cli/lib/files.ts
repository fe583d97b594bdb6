import { constants } from 'node:fs';
import { access, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { validationError } from '../../domain/records/schema/validation.ts';
import { ServiceError } from '../../platform/errors.ts';

/** Returns the result of `work`, which reads or writes a file; a file system error becomes one line that names the file. */
export async function ofFile<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code, syscall, path: own = path } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new ServiceError('conflict', `${own.replace(/\.draft$/, '')} cannot be read or written (${code}).`);
  }
}

/** Reads a JSON file. Rejects with `conflict` when it cannot be read, with `validation_failed` when it is not JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  try {
    return JSON.parse(text);
  } catch {
    throw validationError([{ field: '', message: 'The file must be JSON' }]);
  }
}

/** Rejects with `conflict` when there is a file, unless it may be replaced. */
export async function requireFree(path: string, force: boolean): Promise<void> {
  const isThere = await access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
  if (isThere && !force)
    throw new ServiceError('conflict', `${path} already exists. To replace it, use --force.`);
}

const OWNER_ONLY = 0o600;

/**
 * Writes a file that has its name only once it is whole and on disk, and `beforeNamed`, which gets its path until then, is done. If
 * that fails, nothing is left: it contains PHI. Rejects with the file system's error, and as `beforeNamed` does.
 */
export async function writeWholeFile(
  path: string,
  content: Readable,
  beforeNamed: (part: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const part = `${path}.part`;
  try {
    const file = await open(part, 'w', OWNER_ONLY);
    await pipeline(content, file.createWriteStream({ flush: true }));
    await beforeNamed(part);
    await rename(part, path);
    const folder = await open(dirname(path));
    await folder.sync();
    await folder.close();
  } catch (error) {
    content.destroy();
    await rm(part, { force: true });
    throw error;
  }
}
