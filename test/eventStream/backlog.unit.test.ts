import { once } from 'node:events';
import { expect, test } from 'vitest';
import { countBacklog } from '../../src/modules/eventStream/backlog.ts';
import type { EventBatch, EventLog, FollowOptions } from '../../src/storage/eventLog.ts';
import { recordedEventOf } from '../support/log.ts';

const selection = { workspace: 'clinic', unchanged: 'send' as const, eventTypes: ['PayerUpserted'] };
const event = recordedEventOf('payer', { id: 'payer-1' });

/** A log with one payer; `isSlow`: whose next batch does not come. */
function logOf(isSlow: boolean): EventLog {
  async function* follow({ signal }: FollowOptions): AsyncGenerator<EventBatch> {
    yield { events: [event], position: event.position, caughtUp: !isSlow };
    if (isSlow) await once(signal, 'abort');
  }
  return { head: async () => 1_000, follow } as unknown as EventLog;
}

test.each([
  ['to the end of the log', false, true],
  ['as far as the log can be read in time', true, false],
])('what is pending is counted %s, and the count says so', async (_what, isSlow, isExact) => {
  const oldestAt = Date.parse(event.recordedAt);
  const counted = await countBacklog(logOf(isSlow), selection, 0, 9);
  expect(counted).toEqual({ count: 1, isExact, oldestAt });
  expect(await countBacklog(logOf(isSlow), selection, 0, 1)).toEqual({
    ...{ count: 1, isExact: false, oldestAt },
  });
});
