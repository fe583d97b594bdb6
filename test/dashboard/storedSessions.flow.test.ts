import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Request } from 'express';
import { Cookie, type SessionData } from 'express-session';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SessionStore, sessionsTable } from '../../src/dashboard/http/session.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { eventually } from '../support/eventually.ts';

const IDLE_MS = 900_000;
const folder = mkdtempSync(join(tmpdir(), 'chartledger-sessions-'));
let stateStore: StateStore;

beforeAll(async () => {
  stateStore = await openStateStore(`sqlite:${join(folder, 'state.db')}`);
});
afterAll(async () => {
  await stateStore.close();
  rmSync(folder, { recursive: true, force: true });
});

function openStore() {
  const store = new SessionStore(stateStore, IDLE_MS);
  const get = promisify<string, SessionData | null | undefined>(store.get.bind(store));
  return {
    get,
    set: promisify<string, SessionData>(store.set.bind(store)),
    destroy: promisify<string>(store.destroy.bind(store)),
    /** As a request loads it. */
    load: async (sessionID: string) =>
      store.createSession({ sessionID } as Request, (await get(sessionID)) as SessionData),
  };
}

const hashed = (sessionId: string) => createHash('sha256').update(sessionId).digest('hex');

const session = (userId: string): SessionData => ({ cookie: new Cookie(), userId });

test('a session is known to every instance, under no name by which it could be taken over', async () => {
  await openStore().set('session-1', session('usr_1'));
  expect(await openStore().get('session-1')).toMatchObject({ userId: 'usr_1' });
  expect(await openStore().get('session-2')).toBeNull();
  expect(await stateStore.load(sessionsTable, ['session-1'])).toEqual([]);
});

test('a session that was not used for long is not given, and is removed', async () => {
  await openStore().set('session-3', session('usr_3'));
  const rows = await stateStore.page(sessionsTable, { partition: 'sessions', limit: 10 });
  const stale = rows.find(({ id }) => id === hashed('session-3'));
  if (stale === undefined) throw new Error('the session was not saved');
  await stateStore.remove(sessionsTable, [stale.id], stale.revision);
  await stateStore.save(sessionsTable, [{ ...stale, revision: (Date.now() - IDLE_MS - 1_000) * 1_000 }]);
  const store = openStore();
  expect(await store.get('session-3')).toBeNull();
  await store.set('session-4', session('usr_4'));
  await eventually(async () => expect(await stateStore.load(sessionsTable, [stale.id])).toEqual([]));
  expect(await store.get('session-4')).toMatchObject({ userId: 'usr_4' });
});

/** Saves a session as an instance does whose clock is a minute ahead. */
async function saveAhead(sessionId: string, userId: string): Promise<void> {
  await openStore().set(sessionId, session(userId));
  const rows = await stateStore.page(sessionsTable, { partition: 'sessions', limit: 100 });
  const row = rows.find(({ id }) => id === hashed(sessionId));
  if (row === undefined) throw new Error('the session was not saved');
  await stateStore.save(sessionsTable, [{ ...row, revision: row.revision + 60_000_000 }]);
}

test('a session ends that an instance saved whose clock is ahead, or before the clock was set back', async () => {
  await saveAhead('session-5', 'usr_5');
  const store = openStore();
  await store.destroy('session-5');
  expect(await store.get('session-5')).toBeNull();
});

test('what a request adds to such a session is kept', async () => {
  await saveAhead('session-6', 'usr_6');
  const store = openStore();
  const loaded = await store.load('session-6');
  await store.set('session-6', Object.assign(loaded, { notices: ['Saved.'] }));
  expect(await store.get('session-6')).toMatchObject({ userId: 'usr_6', notices: ['Saved.'] });
});

test('what a session holds cannot be read without its id', async () => {
  const searches = [{ number: 1, workspace: 'clinic', text: 'Quetzal' }];
  await openStore().set('session-7', { ...session('usr_7'), searches, notices: ['Welcome.'] });
  expect(await openStore().get('session-7')).toMatchObject({ userId: 'usr_7', searches });
  const rows = await stateStore.page(sessionsTable, { partition: 'sessions', limit: 100 });
  const stored = JSON.stringify(rows.find(({ id }) => id === hashed('session-7')));
  expect(stored).not.toMatch(/Quetzal|usr_7|Welcome|session-7/);
});

test('a session that an earlier version stored has ended', async () => {
  const body = { ...session('usr_8'), searches: [{ text: 'Quetzal' }] };
  const id = hashed('session-8');
  await stateStore.save(sessionsTable, [
    { id, partition: 'sessions', order: 8, revision: Date.now() * 1000, body },
  ]);
  expect(await openStore().get('session-8')).toBeNull();
});
