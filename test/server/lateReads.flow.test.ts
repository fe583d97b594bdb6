import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import { holdsStream, KEY_ADOPTIONS_STREAM, recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { addHold } from '../../src/modules/erasure/holds.ts';
import { Keyring } from '../../src/modules/keyring.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { temporaryFolder } from '../support/cli.ts';
import { appendTombstones } from '../support/erasure.ts';
import { TestWorkspace } from '../support/samples.ts';

let log: EventLog;
beforeAll(async () => {
  log = await openEventLog(`sqlite:${join(temporaryFolder(), 'events.db')}`);
});
afterAll(() => log.close());

/**
 * The log of a leader that has just begun: it counts all that it holds, but does not show what stands at a position or behind it,
 * until so many reads after the first append.
 */
function lateLog(from: number, readsAfter = 0): EventLog {
  let left = Number.POSITIVE_INFINITY;
  return new Proxy(log, {
    get(target, name) {
      return async (...args: unknown[]) => {
        if (name === 'append') left = Math.min(left, readsAfter);
        const result = await Reflect.get(target, name).apply(target, args);
        if (name !== 'readStream' || left-- <= 0) return result;
        const [stream, options] = args as Parameters<EventLog['readStream']>;
        const events = await target.readStream(stream, { ...options, limit: 1_000 });
        return events.filter(({ position }) => position < from).slice(0, options.limit);
      };
    },
  });
}

const keyOf = (setting: string, byte: number) => {
  const own = Buffer.alloc(32, byte);
  return {
    ...{ setting, consequence: 'nothing can be opened', place: 'a file' },
    ...{ find: async () => [own], load: async () => own, next: async () => own },
    settle: async () => undefined,
  };
};
const adoptions = async (setting: string) => {
  const events = await log.readStream(KEY_ADOPTIONS_STREAM, { limit: 100 });
  return events.filter(({ data }) => data.setting === setting);
};

test('a key that the log knows but does not show yet is not adopted again, nor another one in its place', async () => {
  const own = keyOf('SHOWN_LATE', 1);
  const other = keyOf('SHOWN_LATE', 2);
  await new Keyring(log, { own }).current('own');
  const known = await adoptions('SHOWN_LATE');
  expect(known).toHaveLength(1);
  const late = () => lateLog(0);
  expect(await new Keyring(late(), { own }).current('own')).toEqual(await own.load());
  await expect(new Keyring(late(), { own: other }).current('own')).rejects.toMatchObject({
    problem: expect.stringContaining('is not the one that the event log knows'),
  });
  await new Keyring(late(), { own }).require(['own'], false);
  await expect(new Keyring(late(), { own: other }).require(['own'], false)).rejects.toThrow(
    'is not the one that the event log knows',
  );
  expect(await adoptions('SHOWN_LATE')).toEqual(known);
});

test('a hold that comes behind a tombstone that reads do not show yet says that it came too late', async () => {
  const workspace = new TestWorkspace();
  const caller: Caller = {
    workspace: workspace.id,
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  };
  const entry = catalogEntry('payer');
  const stream = recordStream(workspace.id, 'payer', 'P-1');
  await workspace.append(log, stream);
  const [, before] = await appendTombstones(log, workspace, stream);
  const [tombstone] = await log.readStream(stream, { from: before, limit: 1 });
  const late = lateLog(tombstone?.position ?? 0, 1);
  const adding = addHold(late, caller, { entry, id: 'P-1' }, 'Case 2031-17');
  await expect(adding).rejects.toMatchObject({ code: 'gone' });
  const holds = await log.readStream(holdsStream(workspace.id), { limit: 10 });
  expect(holds.map(({ type }) => type)).toEqual(['HoldAdded', 'HoldReleased']);
});
