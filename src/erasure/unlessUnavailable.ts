import { ServiceError } from '../errors.ts';

/** What `work` gives; undefined where a store is away, or a read model lags. */
export async function unlessUnavailable<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return undefined;
    throw error;
  }
}
