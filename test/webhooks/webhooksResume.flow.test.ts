import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DeliveryState } from '../../src/modules/webhooks/sessionState.ts';
import { appendNote, deliveryTable, dropEarlierModels } from '../../src/modules/webhooks/store.ts';
import { openEventLog, openReadModels, openStateStore } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { idsWithRow } from '../support/eventually.ts';
import { OffsetClock, openState, sampleWebhook, waitingRecord } from '../support/webhooks.ts';

const HOUR_MS = 3_600_000;
const webhook = sampleWebhook({ startAfter: 0 });
let folder: string;
let eventLog: EventLog;
let readModels: ReadModels;
let stateStore: StateStore;
let clock: OffsetClock;
/** Webhooks that were said to have lost their state. */
let lost: string[];
beforeEach(async () => {
  folder = temporaryFolder();
  eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  stateStore = await openStateStore(`sqlite:${join(folder, 'state.db')}`);
  clock = new OffsetClock();
  lost = [];
});
afterEach(() => Promise.all([eventLog.close(), readModels.close(), stateStore.close()]));

const open = (log: Pick<EventLog, 'identity' | 'hasPosition' | 'readStream'> = eventLog) =>
  openState(stateStore, webhook, { eventLog: log, readModels, clock, onStateLost: (id) => lost.push(id) });

const note = (position: number, handled = -1) => appendNote(eventLog, webhook, { position, handled });

/** Makes the state that of a delivery that has come so far. */
async function comeTo(state: DeliveryState, position: number): Promise<void> {
  Object.assign(state.at, { position, followed: position });
  expect(await state.save()).toBe(true);
}

test('a lost state goes on from the last note in the log, and says so', async () => {
  await open();
  expect(lost).toEqual([]);
  for (const position of [1, 2]) await note(position, position + 5);
  await stateStore.prune(deliveryTable, Number.MAX_SAFE_INTEGER);
  expect((await open()).at).toMatchObject({ position: 2, handled: 7, noted: 1 });
  expect(lost).toEqual([webhook.id]);
  expect((await open()).at).toMatchObject({ position: 2, handled: 7 });
  expect(lost).toEqual([webhook.id]);
});

test('what waits is before the place that a note may name', async () => {
  const state = await open();
  state.at.position = 90;
  expect(state.settled).toBe(90);
  state.wait(waitingRecord('clinic.payer-1', { before: 40, position: 41 }));
  state.wait(waitingRecord('clinic.payer-2', { before: 60, position: 61 }));
  state.wait(waitingRecord('clinic.payer-3', { before: 3, position: 4, once: true }));
  expect(state.settled).toBe(40);
});

test.each(['a log put back to an earlier state', 'another log'])(
  'the state of %s silences nothing: it goes on from what the log says',
  async (which) => {
    const state = await open();
    await note(0);
    await note(1);
    state.at.noted = 1;
    state.wait(waitingRecord('clinic.payer-1'));
    await comeTo(state, 2);
    const isOther = which === 'another log';
    const restored = {
      identity: isOther ? async () => 'another' : () => eventLog.identity(),
      hasPosition: async (position: number) => isOther || position < 2,
      readStream: async (stream: string) => (await eventLog.readStream(stream, { limit: 10 })).slice(0, 1),
    };
    const after = await open(restored);
    expect(after.at).toMatchObject({ position: 0, followed: 0, handled: -1, noted: 0 });
    expect(after.waiting.size).toBe(0);
    expect(lost).toEqual([webhook.id]);
  },
);

test('a state that names a later note than the log has is not gone on with, though its place is there', async () => {
  await note(0);
  const state = await open();
  state.at.noted = 5;
  await comeTo(state, 1);
  expect((await open()).at).toMatchObject({ position: 0, noted: 0 });
});

test('however the clock is set over a restart, nothing waits longer than it was to', async () => {
  const state = await open();
  const due = clock.elapsed() + HOUR_MS;
  state.wait(waitingRecord('clinic.payer-1', { due, delayMs: HOUR_MS }));
  await state.save();
  clock.set(-24 * HOUR_MS);
  const [behind] = (await open()).waiting.values();
  expect((behind?.due ?? 0) - clock.elapsed()).toBeLessThanOrEqual(HOUR_MS);
  clock.set(72 * HOUR_MS);
  const [ahead] = (await open()).waiting.values();
  expect((ahead?.due ?? Number.POSITIVE_INFINITY) - clock.elapsed()).toBeLessThanOrEqual(0);
});

test('what an earlier version kept in the read models is taken over once, then removed', async () => {
  const model = 'webhook_delivery_v1';
  const partition = `${webhook.id}/waiting`;
  const waits = {
    stream: 'clinic.payer-1',
    next: 3,
    position: 8,
    tries: 2,
    dueAt: Date.now(),
    triedVersion: 1,
  };
  const failed = { messageId: 'msg_1', stream: 'clinic.payer-2', revision: 0 };
  await readModels.write({
    model,
    rows: [
      {
        ...{ id: webhook.id, partition: 'webhooks', order: 0, position: 5 },
        body: { position: 9, handled: 4, blocked: 1 },
      },
      { id: `${webhook.id}/waiting/1`, partition, order: 8, position: 5, body: waits },
      {
        id: `${webhook.id}/failed/1`,
        partition: `${webhook.id}/failed`,
        order: 7,
        position: 5,
        body: failed,
      },
    ],
    checkpoint: 0,
  });
  await dropEarlierModels(readModels, stateStore, [webhook.id]);
  const state = await open();
  expect(state.at).toMatchObject({ position: 9, handled: 4 });
  expect([...state.waiting.values()]).toMatchObject([
    { stream: 'clinic.payer-1', next: 3, tries: 2, before: 0 },
  ]);
  await state.save();
  expect(await state.failed(-1, 10)).toMatchObject([{ ...failed, position: 7 }]);
  await dropEarlierModels(readModels, stateStore, [webhook.id]);
  expect(await idsWithRow(readModels, model, [webhook.id])).toEqual(new Set());
  expect(lost).toEqual([]);
});
