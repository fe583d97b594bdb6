import { ServiceError } from '../errors.ts';

/** The result of `work`, which reads or writes a file; what the file system refuses becomes one line that names it. */
export async function ofFile<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new ServiceError(
      'conflict',
      `${path}, or a file that belongs to it, cannot be read or written (${code}).`,
    );
  }
}
