import { expect, test } from 'vitest';
import { unavailable } from '../../src/errors.ts';
import { feedEventTypes } from '../../src/feed/format/cloudEvent.ts';
import type { Selection } from '../../src/feed/selection.ts';
import { CatchUp } from '../../src/feed/thread/CatchUp.ts';
import { FeedText, lazyDeidentifier } from '../../src/feed/thread/FeedText.ts';
import type { EventLog } from '../../src/ports/eventLog.ts';
import { payerEvent } from '../support/payerEvent.ts';

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
    const changedFields = { changes: async () => changes } as unknown as Parameters<typeof FeedText.of>[1];
    return FeedText.of(
      events,
      changedFields,
      lazyDeidentifier(() => ({ key: new Uint8Array(32), epoch: 1 })),
    );
  };
}

test('a store that is away for a moment ends no reading', async () => {
  const reading = new CatchUp(eventLog, away(2), selection, { after: 0, from: undefined });
  expect(await reading.next(10)).toMatchObject({ count: 1, position: 5 });
  await reading.close();
});

test('who closes it while the store is away is told', async () => {
  const reading = new CatchUp(eventLog, away(Number.POSITIVE_INFINITY), selection, {
    after: 0,
    from: undefined,
  });
  const next = reading.next(10);
  await reading.close();
  await expect(next).rejects.toMatchObject({ code: 'unavailable' });
});
