import type { ReadModels } from '../../src/storage/readModels.ts';

/** Which of these ids have a row. */
export async function existing(
  readModels: Pick<ReadModels, 'load'>,
  model: string,
  ids: string[],
): Promise<Set<string>> {
  return new Set((await readModels.load(model, ids)).map(({ id }) => id));
}
