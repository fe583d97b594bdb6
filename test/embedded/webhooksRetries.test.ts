import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openStateStore } from '../../src/backends/openBackend.ts';
import { ChangedFields } from '../../src/feed/ChangedFields.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { EventLog, ReadOptions, RecordedEvent } from '../../src/ports/eventLog.ts';
import type { StateStore } from '../../src/ports/stateStore.ts';
import { DeliveryState } from '../../src/webhooks/DeliveryState.ts';
import { Retries } from '../../src/webhooks/Retries.ts';
import { temporaryFolder } from '../support/cli.ts';
import { sampleWebhook } from '../support/sampleWebhook.ts';

const webhook = sampleWebhook();
const STREAM = 'clinic.payer-1';

/** The events of one record: revision 0, 1, 2 … at position 10, 20, 30 … */
function event(revision: number): RecordedEvent {
  return {
    id: `event-${revision}`,
    type: 'PayerUpserted',
    stream: STREAM,
    revision,
    position: (revision + 1) * 10,
    recordedAt: new Date(0).toISOString(),
    data: { id: '1', name: `name ${revision}` },
    metadata: {
      workspace: 'clinic',
      principal: { type: 'operator', id: 'test' },
      requestId: 'request',
      $correlationId: 'request',
      schemaVersion: 1,
    },
  };
}

let stateStore: StateStore;
let state: DeliveryState;
let log: RecordedEvent[];
let followed: number;
let delivered: number[];
/** Happens while a read is on its way, which then shows nothing of it. */
let meanwhile: (() => void) | undefined;
let retries: Retries;
beforeEach(async () => {
  stateStore = await openStateStore(`sqlite:${join(temporaryFolder(), 'state.db')}`);
  state = (await DeliveryState.open(stateStore, webhook, Date.now())) as DeliveryState;
  delivered = [];
  meanwhile = undefined;
  const eventLog = {
    readStream: async (_stream: string, { from = 0, limit }: ReadOptions) => {
      const found = log.slice(from, from + limit);
      meanwhile?.();
      meanwhile = undefined;
      return found;
    },
  } as unknown as EventLog;
  retries = new Retries({
    eventLog,
    changedFields: new ChangedFields(eventLog),
    clock: systemClock,
    state,
    deliver: async ({ event: { revision } }) => {
      delivered.push(revision);
      return { kind: 'delivered' };
    },
    webhook: () => webhook,
    wants: () => true,
    followed: () => followed,
  });
});
afterEach(() => stateStore.close());

/** The follower comes to an event; whether it leaves it to the retries. */
function follow(one: RecordedEvent): boolean {
  const taken = retries.takes(one);
  followed = one.position;
  return taken;
}

async function retry(): Promise<void> {
  retries.wait({ stream: STREAM, next: 0, position: 10, tries: 1, dueAt: 0, triedVersion: 1 }, 0);
  retries.look(1);
  await retries.next()?.();
}

test('what the follower passes while the record is read is delivered, too', async () => {
  log = [event(0), event(1)];
  followed = 20;
  meanwhile = () => {
    log.push(event(2));
    expect(follow(event(2))).toBe(true);
  };
  await retry();
  expect(delivered).toEqual([0, 1, 2]);
  expect(state.waiting.size).toBe(0);
});

test('what the follower is still to come to is left to it', async () => {
  log = [event(0), event(1), event(2), event(3)];
  followed = 20;
  await retry();
  expect(delivered).toEqual([0, 1]);
  expect(follow(event(2))).toBe(false);
});

test('a record of more than one page is delivered whole, and one stream has one message on its way', async () => {
  log = Array.from({ length: 45 }, (_, revision) => event(revision));
  followed = 450;
  retries.wait({ stream: STREAM, next: 3, position: 40, tries: 1, dueAt: 0, triedVersion: 1 }, 44);
  state.wait({ stream: STREAM, next: 1, once: true, position: 20, tries: 0, dueAt: 0, triedVersion: 1 });
  retries.look(1);
  const [first, second] = [retries.next(), retries.next()];
  expect(second).toBeUndefined();
  await first?.();
  expect(delivered).toEqual([1]);
  retries.look(1);
  await retries.next()?.();
  expect(delivered).toEqual([1, ...Array.from({ length: 42 }, (_, index) => index + 3)]);
  expect(state.waiting.size).toBe(0);
});

test('only what is due is tried, or was last tried with another version of the webhook', async () => {
  log = [event(0)];
  followed = 10;
  retries.wait({ stream: STREAM, next: 0, position: 10, tries: 1, dueAt: 500, triedVersion: 1 }, 0);
  retries.look(499);
  expect(retries.next()).toBeUndefined();
  retries.wait({ stream: STREAM, next: 0, position: 10, tries: 1, dueAt: 500, triedVersion: 0 }, 0);
  retries.look(499);
  expect(retries.next()).toBeDefined();
});
