import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { TailLookup } from '../../src/storage/engines/eventstoredb/append.ts';

import { eventually } from '../support/eventually.ts';

/** A reader of a stream with these events, newest first, whose reads end when the test says so. */
function heldReader(events: RecordedEvent[]) {
  const reads: PromiseWithResolvers<void>[] = [];
  return {
    reads,
    async searchBackwards(
      _stream: string,
      _limit: number,
      goOn: (event: RecordedEvent, seen: number) => boolean,
    ) {
      const read = Promise.withResolvers<void>();
      reads.push(read);
      await read.promise;
      events.every((event, at) => goOn(event, at + 1));
    },
  };
}

function eventsOf(ids: string[]): RecordedEvent[] {
  const recordedAt = new Date().toISOString();
  return ids.map((id, at) => {
    const revision = ids.length - 1 - at;
    return { id, revision, position: revision, recordedAt } as RecordedEvent;
  });
}

test('a stream is read once at a time, and whoever searches it meanwhile shares the next read', async () => {
  const ids = Array.from({ length: 40 }, () => uuidv7());
  const reader = heldReader(eventsOf(ids));
  const ends = new TailLookup(reader);
  const first = ends.find('s', ids[0] as string);
  await eventually(() => expect(reader.reads).toHaveLength(1));
  const others: Promise<unknown>[] = [];
  for (const id of ids.slice(1)) {
    others.push(ends.find('s', id));
    await new Promise(setImmediate);
  }
  const elsewhere = ends.find('another', ids[0] as string);
  await eventually(() => expect(reader.reads).toHaveLength(2));
  reader.reads[1]?.resolve();
  expect(await elsewhere).toEqual({ found: { revision: 39, position: 39 }, last: 39, isTruncated: false });
  reader.reads[0]?.resolve();
  expect(await first).toEqual({ found: { revision: 39, position: 39 }, last: 39, isTruncated: false });
  await eventually(() => expect(reader.reads).toHaveLength(3));
  reader.reads[2]?.resolve();
  expect(await Promise.all(others)).toEqual(
    ids
      .slice(1)
      .map((_, at) => ({ found: { revision: 38 - at, position: 38 - at }, last: 39, isTruncated: false })),
  );
  expect(reader.reads).toHaveLength(3);
});

test('a read that fails is the failure of those who share it alone', async () => {
  const id = uuidv7();
  const reader = heldReader(eventsOf([id]));
  const ends = new TailLookup(reader);
  const first = ends.find('s', id);
  await eventually(() => expect(reader.reads).toHaveLength(1));
  const second = ends.find('s', id);
  reader.reads[0]?.reject(unavailable('event log'));
  await expect(first).rejects.toMatchObject({ code: 'unavailable' });
  await eventually(() => expect(reader.reads).toHaveLength(2));
  reader.reads[1]?.resolve();
  expect(await second).toEqual({ found: { revision: 0, position: 0 }, last: 0, isTruncated: false });
});

test('a stream of which events were removed, or are not shown yet, ends where the server shows it without a gap', async () => {
  const ids = Array.from({ length: 6 }, () => uuidv7());
  const shown = async (revisions: number[]) => {
    const events = eventsOf(ids).filter(({ revision }) => revisions.includes(revision));
    const reader = heldReader(events);
    const found = new TailLookup(reader).find('s', uuidv7());
    await eventually(() => expect(reader.reads).toHaveLength(1));
    reader.reads[0]?.resolve();
    return found;
  };
  expect(await shown([])).toEqual({ found: undefined, last: -1, isTruncated: false });
  expect(await shown([0, 1, 2])).toEqual({ found: undefined, last: 2, isTruncated: false });
  expect(await shown([0, 1, 2, 5])).toEqual({ found: undefined, last: 2, isTruncated: false });
  expect(await shown([3, 4, 5])).toEqual({ found: undefined, last: 5, isTruncated: true });
});
