import { afterEach, expect, test, vi } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import { untilReached } from '../../src/modules/records/queries/paging.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

const HOUR_MS = 3_600_000;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Read models that are behind; the clock is set whenever they are asked. */
function behind(answers: number, step: number): ReadModels {
  let asked = 0;
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  const checkpoint = async () => {
    now += step;
    asked += 1;
    return asked < answers ? 0 : 1;
  };
  return { checkpoint } as Partial<ReadModels> as ReadModels;
}

test('whoever waits for a read model is refused after two seconds, also when the clock is set back', async () => {
  const readModels = behind(Number.POSITIVE_INFINITY, -HOUR_MS);
  await expect(untilReached(readModels, recordsModel, 1, 'list')).rejects.toMatchObject({
    code: 'unavailable',
  });
}, 5_000);

test('nobody is refused because the clock is set ahead', async () => {
  await untilReached(behind(3, HOUR_MS), recordsModel, 1, 'list');
});
