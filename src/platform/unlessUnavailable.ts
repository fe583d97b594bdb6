import { ServiceError } from './errors.ts';

/** Returns the result of `work`; undefined when a store is unreachable, or a read model lags. */
export async function unlessUnavailable<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return undefined;
    throw error;
  }
}
