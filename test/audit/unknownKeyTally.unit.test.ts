import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { UnknownKeyTally } from '../../src/modules/audit/requestLog.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('what is counted is recorded in time though the clock was set back', async () => {
  const appended: NewEvent[] = [];
  const append: EventLog['append'] = async (_stream, event) => {
    appended.push(event);
    return { revision: 0, position: 1 };
  };
  const tally = new UnknownKeyTally({ append } as EventLog);
  await tally.flush();
  vi.setSystemTime(Date.now() - 3_600_000);
  tally.add('192.0.2.7');
  await vi.advanceTimersByTimeAsync(11 * 60_000);
  expect(appended.map(({ data }) => [data.action, data.count])).toEqual([['key.unknown', 1]]);
});
