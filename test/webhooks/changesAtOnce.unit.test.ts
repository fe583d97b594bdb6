import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { ChangedFields } from '../../src/modules/eventStream/changedFields.ts';
import type { EventLog, ReadOptions } from '../../src/storage/eventLog.ts';

import { payerEvent } from '../support/samples.ts';

/** An event of a payer that changes nothing. */
function event(stream: string, revision: number): RecordedEvent {
  const data = { id: '1', name: 'Aetna' };
  return payerEvent({ stream, revision, position: revision + 1, data, dataText: JSON.stringify(data) });
}

test('several who go through the log at once, each at a pace of its own, are told the same', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const eventLog = {
    readStream: async (stream: string, { from = 0, limit }: ReadOptions) => {
      await answered;
      return [event(stream, 0), event(stream, 1)].slice(from, from + limit);
    },
  } as unknown as EventLog;
  const changedFields = new ChangedFields(eventLog);
  await changedFields.changes([event('clinic.payer-1', 0)]);
  // Of the other stream it has to read first, and the quick one passes it meanwhile.
  const slow = changedFields.changes([event('clinic.payer-1', 1), event('clinic.payer-2', 1)]);
  expect(await changedFields.changes([event('clinic.payer-1', 1)])).toMatchObject([
    { changed: [], isFirst: false },
  ]);
  answer();
  expect(await slow).toMatchObject([
    { changed: [], isFirst: false },
    { changed: [], isFirst: false },
  ]);
});
