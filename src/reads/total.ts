import type { ModelName, PageQuery, ReadModels } from '../ports/readModels.ts';

/** Beyond so many a list says that there are more: an index is counted by walking it. */
const MOST_COUNTED = 1_000;

/** How many a list has. */
export interface Total {
  count: number;
  /** There are more than `count`. */
  isMore: boolean;
}

/** How many rows of a partition there are, or on one of its lists. It may lag behind the log. Rejects with `unavailable`. */
export async function totalOf(
  readModels: ReadModels,
  model: ModelName,
  query: Omit<PageQuery, 'after' | 'limit'>,
): Promise<Total> {
  const count = await readModels.countPage(model, { ...query, limit: MOST_COUNTED + 1 });
  return { count: Math.min(count, MOST_COUNTED), isMore: count > MOST_COUNTED };
}
