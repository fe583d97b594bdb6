import { expect, test } from 'vitest';
import { RecordExistence } from '../../src/modules/records/commands/references.ts';
import type { EventLog, Removals } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { eventually } from '../support/eventually.ts';

test('a log that was slow for long is not asked again for all the times that were missed', async () => {
  const none: Removals = { streams: [], place: 0 };
  const slow = Promise.withResolvers<Removals>();
  let asked = 0;
  const eventLog = {
    head: async () => 0,
    removals: () => {
      asked += 1;
      return asked === 2 ? slow.promise : Promise.resolve(none);
    },
  } as unknown as EventLog;
  const following = new AbortController();
  await new RecordExistence(eventLog, {} as ReadModels).followErasures(following.signal);
  await eventually(() => expect(asked).toBe(2));
  const since = performance.now();
  // Several times as long as it waits between two questions.
  await eventually(() => expect(performance.now() - since).toBeGreaterThan(1_500));
  following.abort();
  slow.resolve(none);
  await new Promise(setImmediate);
  expect(asked).toBe(2);
});
