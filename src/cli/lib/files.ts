import { readFile } from 'node:fs/promises';
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
