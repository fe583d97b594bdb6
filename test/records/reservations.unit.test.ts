import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import {
  RESERVATION_MS,
  RESPONSE_TTL_MS,
  Reservation,
  Reservations,
  StoredResponse,
} from '../../src/modules/idempotency/reservations.ts';
import { ServiceError, unavailable } from '../../src/platform/errors.ts';
import { SqliteStateStore } from '../../src/storage/engines/sqlite/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { LaterClock } from '../support/eventually.ts';

const clock = new LaterClock();
const payload = { method: 'POST' };
let secrets = [new Uint8Array(32)];
const path = join(temporaryFolder(), 'state.db');
let store: SqliteStateStore;
let reservations: Reservations;
beforeAll(() => {
  store = new SqliteStateStore(path);
  reservations = new Reservations({ stateStore: store, clock, secrets: async () => secrets });
});
afterAll(() => store.close());

const caller = (): Caller => ({
  workspace: 'clinic',
  principal: { type: 'api_key', id: 'key-1' },
  requestId: uuidv7(),
});

async function reserve(key: string, of: object | 'unread' = payload): Promise<Reservation> {
  const reserved = await reservations.reserve(caller(), key, of === 'unread' ? undefined : of);
  if (reserved instanceof Reservation) return reserved;
  throw new Error('an answer is kept');
}

function rowCount(): unknown {
  const db = new DatabaseSync(path);
  const row = db.prepare('SELECT count(*) AS rows FROM "state_idempotency_keys_v1"').get();
  db.close();
  return row?.rows;
}

const refusalOf = (work: Promise<unknown>) => work.catch(({ code }: ServiceError) => code);

test('the key of a process of which nothing is heard is taken over, with the id of its event', async () => {
  const first = await reserve('taken over');
  expect(first.earlier).toBeUndefined();
  expect(await refusalOf(reserve('taken over'))).toBe('idempotency_key_in_use');
  clock.aheadMs += RESERVATION_MS + 1;
  expect(await refusalOf(reserve('taken over', { method: 'PATCH' }))).toBe('idempotency_key_reused');
  const second = await reserve('taken over');
  expect([second.eventId, second.earlier]).toEqual([
    first.eventId,
    { eventId: first.eventId, appended: false },
  ]);
  // Should the first one live after all, it says nothing any more.
  await first.complete('first');
  expect(await refusalOf(reserve('taken over'))).toBe('idempotency_key_in_use');
  await second.complete('second');
  const kept = await reservations.reserve(caller(), 'taken over', payload);
  expect(kept instanceof StoredResponse && kept.resultFor(payload)).toBe('second');
});

test('the key of a process that died is taken over in time though the clock was set back', async () => {
  const first = await reserve('set back');
  clock.aheadMs -= 3_600_000;
  const second = await reserve('set back');
  expect(second.earlier?.eventId).toBe(first.eventId);
  expect(await refusalOf(reserve('set back'))).toBe('idempotency_key_in_use');
  await second.complete('second');
  clock.aheadMs += 3_600_000;
});

test('after a refusal the key is free; after an outage its request is looked for', async () => {
  const first = await reserve('given up');
  await first.abandon(new ServiceError('validation_failed', ''));
  const second = await reserve('given up', { method: 'PATCH' });
  expect([second.earlier, second.eventId === first.eventId]).toEqual([undefined, false]);
  for (const error of [unavailable('event log'), new TypeError()]) {
    const held = await reserve('cut off');
    await held.abandon(error);
    expect((await reserve('cut off')).earlier?.eventId).toBe(held.eventId);
    clock.aheadMs += RESERVATION_MS + 1;
  }
});

test('a payload that is known late is bound to the key; before that nothing can have been written', async () => {
  const first = await reserve('late', 'unread');
  await first.abandon(unavailable('document store'));
  const second = await reserve('late', 'unread');
  expect(second.earlier).toBeUndefined();
  await second.bind(payload);
  await second.abandon(unavailable('event log'));
  const third = await reserve('late', 'unread');
  expect(third.earlier?.eventId).toBe(second.eventId);
  const reused = third.bind({ method: 'PATCH' });
  expect(await refusalOf(reused)).toBe('idempotency_key_reused');
  await third.abandon(await reused.catch((error) => error));
  const fourth = await reserve('late', 'unread');
  await fourth.bind(payload);
  expect(fourth.earlier?.eventId).toBe(second.eventId);
});

test('a row that has expired says nothing, and is removed', async () => {
  await (await reserve('expired')).complete({ version: 1 });
  clock.aheadMs += RESPONSE_TTL_MS + 1_000;
  const { earlier } = await reserve('expired');
  expect(earlier).toBeUndefined();
  await reservations.prune();
  expect(rowCount()).toBe(1);
});

test('a key that was reserved before the secret was changed is known after that, until it expires', async () => {
  const answered = await reserve('before');
  await answered.complete({ version: 1 });
  const held = await reserve('held');
  secrets = [new Uint8Array(32).fill(1), ...secrets];
  const kept = await reservations.reserve(caller(), 'before', payload);
  expect(kept).toBeInstanceOf(StoredResponse);
  expect((kept as StoredResponse).resultFor(payload)).toEqual({ version: 1 });
  expect(() => (kept as StoredResponse).resultFor({ method: 'PUT' })).toThrow(
    'was sent with a different request',
  );
  await expect(reserve('held')).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
  await held.complete({ version: 2 });
  expect(
    ((await reservations.reserve(caller(), 'held', payload)) as StoredResponse).resultFor(payload),
  ).toEqual({
    version: 2,
  });
  const fresh = await reserve('after');
  await fresh.complete({ version: 3 });
  secrets = secrets.slice(0, 1);
  expect(await reservations.reserve(caller(), 'after', payload)).toBeInstanceOf(StoredResponse);
  expect(await reserve('before')).toBeInstanceOf(Reservation);
});
