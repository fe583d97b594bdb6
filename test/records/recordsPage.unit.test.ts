import { expect, test } from 'vitest';
import { readRecordsPage } from '../../src/modules/records/queries/lists.ts';
import { readPage } from '../../src/modules/records/queries/paging.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { PageQuery, ReadModels, Row } from '../../src/storage/readModels.ts';

/** Read models that hold rows at these places, folded up to a checkpoint, over a log of this length. */
function ports(places: number[], checkpoint: number, head: number) {
  const row = (order: number): Row => ({
    id: `row-${order}`,
    partition: 'p',
    order,
    position: order,
    body: {},
  });
  const page = async (_model: string, { after = 0, limit }: PageQuery) =>
    places
      .filter((place) => place > after)
      .slice(0, limit)
      .map(row);
  return {
    eventLog: { head: async () => head } as EventLog,
    readModels: { page, checkpoint: async () => checkpoint } as unknown as ReadModels,
  };
}

const places = async (given: ReturnType<typeof ports>, limit: number, pageToken?: string) => {
  const { items, next_page_token } = await readPage(given, 'model', 'p', { limit, pageToken });
  return { places: items.map(({ order }) => order), next: next_page_token ?? undefined };
};

test('a page leaves out rows of a batch that is half written, so that the next page cannot skip one', async () => {
  // The log ended at 2 when the list was asked for; of the batch 3, 4, 5 only 3 and 5 are there yet.
  expect(await places(ports([1, 2, 3, 5], 2, 2), 10)).toEqual({ places: [1, 2], next: undefined });
  const first = await places(ports([1, 2, 3, 5], 2, 2), 1);
  expect(first).toEqual({ places: [1], next: expect.any(String) });
  expect(await places(ports([1, 2, 3, 4, 5], 5, 5), 10, first.next)).toEqual({
    places: [2, 3, 4, 5],
    next: undefined,
  });
});

test('a list whose read model stays behind is unavailable', async () => {
  await expect(places(ports([1], 1, 2), 10)).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 2,
  });
});

test('a list of records that is content with what is there has it, and says up to where', async () => {
  const request = { limit: 10, pageToken: undefined, consistency: 'eventual' as const };
  const { items, position } = await readRecordsPage(ports([1, 2, 3], 2, 9), 'p', request);
  expect([items.map(({ order }) => order), position]).toEqual([[1, 2], 2]);
});
