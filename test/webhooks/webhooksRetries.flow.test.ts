import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { ChangedFields } from '../../src/modules/eventStream/changedFields.ts';
import { type Outcome, Retries } from '../../src/modules/webhooks/retries.ts';
import type { DeliveryState } from '../../src/modules/webhooks/sessionState.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { EventLog, ReadOptions } from '../../src/storage/eventLog.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { payerEvent } from '../support/samples.ts';
import { OffsetClock, openState, sampleWebhook, waitingRecord } from '../support/webhooks.ts';

const webhook = sampleWebhook();
const STREAM = 'clinic.payer-1';
const HOUR_MS = 3_600_000;

/** The events of one record: revision 0, 1, 2 … at position 10, 20, 30 … */
function event(revision: number): RecordedEvent {
  const data = { id: '1', name: `name ${revision}` };
  const position = (revision + 1) * 10;
  return payerEvent({ id: `event-${revision}`, stream: STREAM, revision, position, data });
}

let stateStore: StateStore;
let clock: OffsetClock;
let state: DeliveryState;
/** What comes of the tries. */
let answer: Outcome;
let log: RecordedEvent[];
let followed: number;
let delivered: number[];
/** Happens while a read is on its way, which then shows nothing of it. */
let meanwhile: (() => void) | undefined;
let retries: Retries;
beforeEach(async () => {
  stateStore = await openStateStore(`sqlite:${join(temporaryFolder(), 'state.db')}`);
  clock = new OffsetClock();
  answer = { kind: 'delivered' };
  state = await openState(stateStore, webhook, { clock });
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
    clock,
    state,
    deliver: async ({ event: { revision } }) => {
      delivered.push(revision);
      return answer;
    },
    webhook: () => webhook,
    wants: () => true,
    followed: () => followed,
  });
});
afterEach(() => stateStore.close());

/** The follower comes to an event; whether it leaves it to the retries. */
function follow(one: RecordedEvent): boolean {
  const taken = retries.covers(one);
  followed = one.position;
  return taken;
}

async function retry(): Promise<void> {
  state.wait(waitingRecord(STREAM, { next: 0, last: 0 }));
  await tryNext();
}

/** What the next look begins, to its end; false when it begins nothing. */
async function tryNext(): Promise<boolean> {
  retries.refresh();
  const work = retries.next();
  await work?.();
  return work !== undefined;
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
  state.wait(waitingRecord(STREAM, { next: 3, last: 44, position: 40 }));
  state.wait(waitingRecord(STREAM, { next: 1, once: true, position: 20 }));
  retries.refresh();
  const [first, second] = [retries.next(), retries.next()];
  expect(second).toBeUndefined();
  await first?.();
  expect(delivered).toEqual([1]);
  await tryNext();
  expect(delivered).toEqual([1, ...Array.from({ length: 42 }, (_, index) => index + 3)]);
  expect(state.waiting.size).toBe(0);
});

test('what the log does not give although it was passed is asked for again, but not at once', async () => {
  log = [event(0)];
  followed = 30;
  state.wait(waitingRecord(STREAM, { next: 0, last: 2 }));
  expect(await tryNext()).toBe(true);
  expect(await tryNext()).toBe(false);
  expect(delivered).toEqual([0]);
  log.push(event(1), event(2));
  clock.pass(1_000);
  expect(await tryNext()).toBe(true);
  expect(delivered).toEqual([0, 1, 2]);
  expect(state.waiting.size).toBe(0);
});

test('only what is due is tried, or was last tried with another version of the webhook', async () => {
  log = [event(0)];
  followed = 10;
  state.wait(waitingRecord(STREAM, { next: 0, last: 0, due: clock.elapsed() + HOUR_MS }));
  expect(await tryNext()).toBe(false);
  clock.set(2 * HOUR_MS);
  expect(await tryNext()).toBe(false);
  clock.set(-24 * HOUR_MS);
  clock.pass(HOUR_MS);
  expect(await tryNext()).toBe(true);
  state.wait(waitingRecord(STREAM, { next: 0, last: 0, due: clock.elapsed() + HOUR_MS, triedVersion: 0 }));
  expect(await tryNext()).toBe(true);
});

describe('once the endpoint takes messages again', () => {
  const streams = Array.from({ length: 12 }, (_, index) => `clinic.payer-${index}`);
  const due = () => clock.elapsed() + HOUR_MS;
  const failed = { kind: 'failed', delayMs: HOUR_MS, step: 1, pauseMs: 0, endpointFails: false } as const;
  /** The records that one look begins to try. */
  function begun(): Promise<void>[] {
    retries.refresh();
    const works: Promise<void>[] = [];
    for (let work = retries.next(); work; work = retries.next()) works.push(work());
    return works;
  }
  beforeEach(() => {
    log = [event(0)];
    followed = 10;
    for (const [index, stream] of streams.entries()) {
      state.wait(waitingRecord(stream, { next: 0, last: 0, position: index, due: due() }));
    }
  });

  test('what waits is tried before it is due, a few records at a time', async () => {
    expect(begun()).toHaveLength(0);
    retries.accepted();
    const counts: number[] = [];
    for (let works = begun(); works.length > 0; works = begun()) {
      counts.push(works.length);
      await Promise.all(works);
    }
    expect(counts).toEqual([5, 5, 2]);
    expect(state.waiting.size).toBe(0);
  });

  test('what is still not taken keeps its place in the schedule, and is not tried so again', async () => {
    answer = { ...failed, woken: true };
    for (let round = 0; round < 4; round += 1) {
      retries.accepted();
      await Promise.all(begun());
    }
    expect(delivered).toHaveLength(streams.length);
    expect([...state.waiting.values()].map(({ tries, step }) => [tries, step])).toEqual(
      streams.map(() => [2, 1]),
    );
    clock.pass(HOUR_MS);
    answer = { kind: 'delivered' };
    await Promise.all(begun());
    expect(state.waiting.size).toBe(0);
  });

  test('on request all is tried at once, also what was tried early before', async () => {
    for (const one of state.waiting.values()) state.wait({ ...one, woken: true });
    retries.accepted();
    expect(begun()).toHaveLength(0);
    retries.retryAll();
    await Promise.all(begun());
    expect(delivered).toHaveLength(streams.length);
    expect(state.waiting.size).toBe(0);
  });
});
