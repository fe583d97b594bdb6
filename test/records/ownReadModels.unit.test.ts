import { expect, test } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import { ownReadModels } from '../../src/modules/projections/storeIdentity.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

const query = { partition: 'p', limit: 1 };

const reads: [string, (readModels: ReadModels) => Promise<unknown>][] = [
  ['load', (readModels) => readModels.load(recordsModel, ['a'])],
  ['page', (readModels) => readModels.page(recordsModel, query)],
  ['heads', (readModels) => readModels.heads(recordsModel, { ...query, lists: ['l'] })],
  ['countPage', (readModels) => readModels.countPage(recordsModel, query)],
  ['changes', (readModels) => readModels.changes(recordsModel, query)],
  ['search', (readModels) => readModels.search(recordsModel, { partitions: ['p'], words: [], limit: 1 })],
  ['count', (readModels) => readModels.count(recordsModel)],
];

test.each(reads)('%s says nothing of a read model that was built from another log', async (_name, read) => {
  const every = (answer: unknown) => Object.fromEntries(reads.map(([name]) => [name, async () => answer]));
  const stored = { ...every([]), checkpoint: async () => 7, builtFrom: async () => 'another log' };
  const eventLog = { identity: async () => 'this log', hasPosition: async () => true };
  const own = ownReadModels(
    stored as unknown as ReadModels,
    eventLog as unknown as EventLog,
    () => undefined,
  );
  await expect(read(own)).rejects.toMatchObject({ code: 'unavailable' });
});

test('whoever asks for a checkpoint is reported as waiting, except when it does not', async () => {
  let awaited = 0;
  const stored = { checkpoint: async () => 7 } as Partial<ReadModels> as ReadModels;
  const own = ownReadModels(stored, {} as EventLog, () => {
    awaited += 1;
  });
  expect(await own.checkpoint(recordsModel, { isAwaited: false })).toBe(7);
  expect(awaited).toBe(0);
  expect(await own.checkpoint(recordsModel)).toBe(7);
  expect(awaited).toBe(1);
});
