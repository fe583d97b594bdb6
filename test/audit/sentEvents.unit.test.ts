import { expect, test } from 'vitest';
import {
  type DisclosedRange,
  type PositionRange,
  type Purpose,
  withRange,
} from '../../src/domain/events/payloads.ts';
import { SentEvents } from '../../src/modules/audit/accessIndex.ts';
import { unavailable } from '../../src/platform/errors.ts';

import { eventually } from '../support/eventually.ts';

const at = (position: number): PositionRange => ({ from: position, to: position });

/** An account of a reader, and what it recorded. */
function open(limits: { everyMs?: number; maxEvents?: number } = {}) {
  const recorded: Pick<DisclosedRange, 'ranges' | 'count'>[] = [];
  const log = { isAway: false, recorded };
  const sent = new SentEvents(async (part) => {
    if (log.isAway) throw unavailable('event log');
    recorded.push(part);
  }, limits);
  const send = (position: number) => {
    sent.add(at(position));
    return sent.recordDue();
  };
  return { log, sent, send };
}

test('the first event is recorded before it goes, what follows together, at the end or with the last of so many', async () => {
  const { log, sent, send } = open({ maxEvents: 10 });
  await send(1);
  expect(log.recorded).toEqual([{ ranges: [at(1)], count: 1 }]);
  for (let position = 2; position <= 12; position++) await send(position);
  expect(log.recorded.slice(1)).toEqual([{ ranges: [{ from: 2, to: 11 }], count: 10 }]);
  await sent.flush();
  await sent.flush();
  expect(log.recorded.slice(2)).toEqual([{ ranges: [at(12)], count: 1 }]);
});

test('what waits is recorded when its time has come, although nothing more goes', async () => {
  const { log, send } = open({ everyMs: 20 });
  await send(1);
  await send(5);
  await eventually(() => expect(log.recorded).toHaveLength(2));
  expect(log.recorded[1]).toEqual({ ranges: [at(5)], count: 1 });
});

test('nothing goes while it cannot be recorded, and all of it is recorded later', async () => {
  const { log, sent, send } = open();
  log.isAway = true;
  await expect(send(1)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(send(2)).rejects.toMatchObject({ code: 'unavailable' });
  log.isAway = false;
  await sent.recordDue();
  expect(log.recorded).toEqual([{ ranges: [{ from: 1, to: 2 }], count: 2 }]);
});

test('what goes under other terms is recorded apart, also while nothing could be recorded', async () => {
  const recorded: [count: number | undefined, purpose: string | undefined][] = [];
  let isAway = false;
  const sent = new SentEvents(async ({ count }, terms) => {
    if (isAway) throw unavailable('event log');
    recorded.push([count, terms?.purpose]);
  });
  const send = (position: number, purpose?: Purpose) => {
    sent.add(at(position), 1, purpose && { purpose });
    return sent.recordDue();
  };
  await send(1, 'payment');
  await send(2, 'payment');
  isAway = true;
  await expect(send(3, 'other')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(send(4)).rejects.toMatchObject({ code: 'unavailable' });
  isAway = false;
  await send(5);
  expect(recorded).toEqual([
    [1, 'payment'],
    [1, 'payment'],
    [1, 'other'],
    [2, undefined],
  ]);
});

test('ranges that touch become one, and of too many the closest do, so that none is lost', () => {
  let ranges: PositionRange[] = [];
  for (const position of [50, 10, 12, 11, 90, 300, 51]) ranges = withRange(ranges, at(position), 3);
  expect(ranges).toEqual([{ from: 10, to: 51 }, at(90), at(300)]);
  expect(withRange([{ from: 1, to: 9 }], { from: 4, to: 20 }, 3)).toEqual([{ from: 1, to: 20 }]);
});
