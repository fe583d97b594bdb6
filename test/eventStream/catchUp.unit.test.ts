import { expect, test, vi } from 'vitest';
import type { Position } from '../../src/domain/events/event.ts';
import { feedEventTypes, type Selection } from '../../src/modules/eventStream/cloudEvents.ts';
import { CatchUpSubscription, EventStreamText } from '../../src/modules/eventStream/reader.ts';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { payerEvent } from '../support/samples.ts';

const event = payerEvent({ stream: 'clinic.payer-1', revision: 0, position: 5, data: { id: '1' } });
const selection: Selection = {
  workspace: 'clinic',
  view: 'full',
  eventTypes: feedEventTypes.map(({ eventType }) => eventType),
  unchanged: 'send',
  format: 'ndjson',
  address: 'https://chartledger.example.com',
};

/** A log that holds the one event, of which only what following needs is there. */
const eventLog = {
  async *follow() {
    yield { events: [event], position: event.position, caughtUp: true };
  },
} as unknown as EventLog;

/** Events without text until the store of earlier versions has been away `times` times. */
function away(times: number) {
  let left = times;
  return async (events: (typeof event)[]) => {
    left -= 1;
    if (left >= 0) throw unavailable('event log');
    const changes = events.map(() => ({ sent: {}, changed: [] }));
    const changedFields = { changes: async () => changes } as unknown as Parameters<
      typeof EventStreamText.of
    >[1];
    return EventStreamText.of(events, changedFields);
  };
}

test('a store that is away for a moment ends no reading', async () => {
  const reading = new CatchUpSubscription(eventLog, away(2), selection, { after: 0, from: undefined });
  expect(await reading.next(10)).toMatchObject({ count: 1, position: 5 });
  await reading.close();
});

test('who closes it while the store is away is told', async () => {
  const reading = new CatchUpSubscription(eventLog, away(Number.POSITIVE_INFINITY), selection, {
    after: 0,
    from: undefined,
  });
  const next = reading.next(10);
  await reading.close();
  await expect(next).rejects.toMatchObject({ code: 'unavailable' });
});

test('a reader that does not ask for the rest holds nothing, and gets it when it asks', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const events = [1, 2].map((number) =>
    payerEvent({
      stream: `clinic.payer-${number}`,
      revision: 0,
      position: number,
      data: { id: `${number}` },
    }),
  );
  const open: Position[] = [];
  const log = {
    async *follow({ after }: { after: Position }) {
      open.push(after);
      try {
        yield { events: events.filter(({ position }) => position > after), position: 2, caughtUp: true };
      } finally {
        open.splice(open.indexOf(after), 1);
      }
    },
  } as unknown as EventLog;
  const reading = new CatchUpSubscription(log, away(0), selection, { after: 0, from: undefined });
  expect(await reading.next(1)).toMatchObject({ count: 1, position: 1 });
  expect(open).toEqual([0]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(open).toEqual([]);
  expect(await reading.next(1)).toMatchObject({ count: 1, position: 2 });
  expect(open).toEqual([1]);
  await reading.close();
  expect(open).toEqual([]);
  vi.useRealTimers();
});
