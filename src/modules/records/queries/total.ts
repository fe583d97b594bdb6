import type { ModelName, PageQuery, ReadModels } from '../../../storage/readModels.ts';

/** Beyond this many, a list only says that there are more: an index is counted by walking it. */
const MOST_COUNTED = 1_000;

/** The number of items in a list. */
export interface Total {
  count: number;
  /** There are more than `count`. */
  isMore: boolean;
}

/**
 * Resolves with how many rows a partition has, or one of its lists. May lag behind the log. Rejects with
 * `unavailable`.
 */
export async function totalOf(
  readModels: ReadModels,
  model: ModelName,
  query: Omit<PageQuery, 'after' | 'limit'>,
): Promise<Total> {
  const count = await readModels.countPage(model, { ...query, limit: MOST_COUNTED + 1 });
  return { count: Math.min(count, MOST_COUNTED), isMore: count > MOST_COUNTED };
}
