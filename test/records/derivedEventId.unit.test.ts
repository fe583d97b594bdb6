import { v7 as uuidv7, validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { eventIdTime } from '../../src/domain/events/event.ts';
import { deterministicEventId } from '../../src/modules/idempotency/keys.ts';

test('further ids of a request are UUIDs of its time, always the same ones, and each another', () => {
  const [first, second] = [uuidv7(), uuidv7()];
  const ids = [first, second].flatMap((id) =>
    [1, 2, 'line 3'].map((place) => deterministicEventId(id, place)),
  );
  expect(new Set([...ids, first, second]).size).toBe(8);
  for (const id of ids) {
    expect([validate(id), version(id)]).toEqual([true, 7]);
  }
  expect(deterministicEventId(first, 2)).toBe(ids[1]);
  expect(ids.slice(0, 3).map(eventIdTime)).toEqual(Array(3).fill(eventIdTime(first)));
});
