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
