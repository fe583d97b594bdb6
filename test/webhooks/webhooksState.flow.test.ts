import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  attemptsTable,
  findMessage,
  listAttempts,
  pruneAttempts,
} from '../../src/modules/webhooks/attempts.ts';
import type { DeliveryState, Waiting } from '../../src/modules/webhooks/sessionState.ts';
import { deliveryPartitions, deliveryTable, removeDelivery } from '../../src/modules/webhooks/store.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { openState, sampleWebhook, waitingRecord } from '../support/webhooks.ts';

const webhook = sampleWebhook({ startAfter: 5 });
const attempt = {
  message_id: 'msg_1',
  type: 'chartledger.payer.upserted.v1',
  attempt: 1,
  at: '2026-11-21T10:00:00.000Z',
  duration_ms: 5,
  outcome: 'retrying' as const,
  status: 500,
};
let stateStore: StateStore;
beforeEach(async () => {
  stateStore = await openStateStore(`sqlite:${join(temporaryFolder(), 'state.db')}`);
});
afterEach(() => stateStore.close());

const open = (from: StateStore = stateStore): Promise<DeliveryState> => openState(from, webhook);

/** The ids of all rows of a webhook's delivery. */
async function rowIds(id: string): Promise<string[]> {
  const rows = await stateStore.load(deliveryTable, [id]);
  for (const partition of deliveryPartitions(id)) {
    rows.push(...(await stateStore.page(deliveryTable, { partition, limit: 1_000 })));
  }
  return rows.map((row) => row.id);
}

const waiting = waitingRecord;

/** The state store, one of whose methods fails for one table when it is told to. */
function fallible(method: string, table: { name: string }): { from: StateStore; fail(fails: boolean): void } {
  let fails = false;
  const from = new Proxy(stateStore, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (typeof own !== 'function') return own;
      return (...args: unknown[]) => {
        if (name === method && args[0] === table && fails) {
          return Promise.reject(unavailable('state store'));
        }
        return own.apply(target, args);
      };
    },
  });
  return {
    from,
    fail(now) {
      fails = now;
    },
  };
}

test('a new state begins where the webhook starts; what is saved is there when it is opened again', async () => {
  const state = await open();
  expect(state.at).toMatchObject({ position: 5, handled: -1 });
  const [a, b, once] = [waiting('a'), waiting('b', { position: 11 }), waiting('a', { once: true, next: 1 })];
  for (const one of [a, b, once]) state.wait(one);
  state.at.position = 20;
  state.fail({ messageId: 'msg_1', stream: 'c', revision: 0, position: 7 });
  expect(await state.save()).toBe(true);
  state.release(b);
  expect(await state.save()).toBe(true);
  const again = await open();
  expect(again.at).toMatchObject({ position: 20, blocked: 1 });
  const kept = ({ due: _due, tried: _tried, ...waits }: Waiting) => waits;
  expect([...again.waiting.values()].toSorted((x, y) => y.next - x.next)).toMatchObject([
    kept(a),
    kept(once),
  ]);
  expect(await again.failed(-1, 10)).toMatchObject([
    { messageId: 'msg_1', stream: 'c', revision: 0, position: 7 },
  ]);
});

test('who opens it takes it over: what its earlier owner saves or removes is without effect', async () => {
  const stale = await open();
  stale.wait(waiting('a'));
  stale.at.position = 30;
  await stale.save();
  const [before] = await stateStore.load(deliveryTable, [webhook.id]);
  const owner = await open();
  stale.release(waiting('a'));
  stale.at.position = 90;
  expect(await stale.save()).toBe(false);
  expect(await owner.save()).toBe(true);
  // As it would come from a call that was on its way when the other took over.
  await stateStore.remove(deliveryTable, [`${webhook.id}/waiting/a`], Number(before?.revision) + 100);
  const next = await open();
  expect(next.at.position).toBe(30);
  expect([...next.waiting.keys()]).toEqual(['a']);
});

test('a state that was lost is not saved on, and begins anew with nothing of before', async () => {
  const state = await open();
  state.at.position = 50;
  state.wait(waiting('a'));
  await state.save();
  await stateStore.prune(deliveryTable, Number.MAX_SAFE_INTEGER);
  state.at.position = 60;
  state.wait(waiting('b'));
  expect(await state.save()).toBe(false);
  const anew = await open();
  expect(anew.at.position).toBe(5);
  expect(anew.waiting.size).toBe(0);
  expect((await open()).waiting.size).toBe(0);
});

test.each([
  { method: 'load', table: attemptsTable },
  { method: 'save', table: attemptsTable },
  { method: 'save', table: deliveryTable },
  { method: 'swap', table: deliveryTable },
  { method: 'remove', table: deliveryTable },
])(
  'a save that is cut off ($method in $table.name) leaves nothing that would be skipped, and the next one saves it all',
  async ({ method, table }) => {
    const { from, fail } = fallible(method, table);
    const state = await open(from);
    state.wait(waiting('done'));
    state.at.position = 20;
    await state.save();
    state.release(waiting('done'));
    state.wait(waiting('new', { position: 25 }));
    state.at.position = 30;
    state.record({ shown: attempt, event: { stream: 'new', revision: 2 } });
    fail(true);
    await expect(state.save()).rejects.toMatchObject({ code: 'unavailable' });
    fail(false);
    const [row] = await stateStore.load(deliveryTable, [webhook.id]);
    const ids = await rowIds(webhook.id);
    expect([
      { position: 20, done: true },
      { position: 30, done: true, new: true },
    ]).toContainEqual({
      position: row?.body.position,
      done: ids.includes(`${webhook.id}/waiting/done`),
      ...(row?.body.position === 30 && { new: ids.includes(`${webhook.id}/waiting/new`) }),
    });
    expect(state.changed).toBe(true);
    expect(await state.save()).toBe(true);
    expect(state.changed).toBe(false);
    expect((await listAttempts(stateStore, webhook.id, { limit: 10, pageToken: undefined })).items).toEqual([
      attempt,
    ]);
    const again = await open();
    expect(again.at.position).toBe(30);
    expect([...again.waiting.keys()]).toEqual(['new']);
  },
);

test('attempts are listed newest first, page by page, and pruned after 30 days', async () => {
  const state = await open();
  const times = Array.from({ length: 25 }, (_, day) => Date.parse(attempt.at) + day * 2 * 86_400_000);
  for (const [n, time] of times.entries()) {
    const shown = { ...attempt, message_id: `msg_${n % 20}`, at: new Date(time).toISOString() };
    state.record({ shown, event: { stream: 's', revision: n } });
  }
  await state.save();
  const seen: string[] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await listAttempts(stateStore, webhook.id, { limit: 10, pageToken });
    seen.push(...page.items.map(({ at }) => at));
    if (page.next_page_token === null) break;
    pageToken = page.next_page_token;
  }
  expect(seen).toEqual(times.map((time) => new Date(time).toISOString()).toReversed());
  expect(await findMessage(stateStore, webhook.id, 'msg_3')).toEqual({ stream: 's', revision: 3 });
  expect(await findMessage(stateStore, webhook.id, 'msg_unknown')).toBeUndefined();
  await pruneAttempts(stateStore, (times.at(-1) ?? 0) + 86_400_000);
  const { items } = await listAttempts(stateStore, webhook.id, { limit: 100, pageToken: undefined });
  expect(items).toHaveLength(15);
});

test('going back keeps what waits before that place, and forgets what lies after', async () => {
  const state = await open();
  const [before, after] = [waiting('before', { position: 10 }), waiting('after', { position: 11 })];
  for (const one of [before, after]) state.wait(one);
  for (const position of [10, 11]) {
    state.fail({ messageId: `msg_${position}`, stream: 'c', revision: position, position });
  }
  state.at.position = 40;
  await state.save();
  await state.rewind(10);
  expect(state.at.position).toBe(10);
  await state.rewind(35);
  expect(state.at.position).toBe(10);
  await state.save();
  const again = await open();
  expect([...again.waiting.keys()]).toEqual(['before']);
  expect((await again.failed(-1, 10)).map(({ messageId }) => messageId)).toEqual(['msg_10']);
});

test('all of a deleted webhook is removed, and of no other', async () => {
  const state = await open();
  for (let n = 0; n < 700; n += 1) state.wait(waiting(`s${n}`, { position: n + 1 }));
  state.fail({ messageId: 'msg_1', stream: 'c', revision: 0, position: 7 });
  await state.save();
  const other = await openState(stateStore, sampleWebhook({ id: 'wh_other' }));
  other.wait(waiting('a'));
  await other.save();
  await removeDelivery(stateStore, [webhook.id, 'wh_unknown']);
  expect(await rowIds(webhook.id)).toEqual([]);
  expect(await rowIds('wh_other')).toHaveLength(2);
});
