import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { RESERVATION_MS } from '../../src/modules/idempotency/reservations.ts';
import {
  MessageClaims,
  type MessageIdentity,
  MessageLock,
} from '../../src/modules/integrations/messages/claims.ts';
import type { Message } from '../../src/modules/integrations/messages/message.ts';
import { MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openDocumentStore, openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { LaterClock } from '../support/eventually.ts';

const clock = new LaterClock();
const never = new AbortController().signal;
let secrets = [new Uint8Array(32)];
let stateStore: StateStore;
let messages: MessageStore;
let claims: MessageClaims;
beforeAll(async () => {
  const folder = temporaryFolder();
  stateStore = await openStateStore(`sqlite:${join(folder, 'state.db')}`);
  const documentStore = await openDocumentStore(`file:${join(folder, 'documents')}`);
  messages = new MessageStore({ stateStore, documentStore });
  claims = new MessageClaims({ stateStore, clock, messages, secrets: async () => secrets });
});
afterAll(() => stateStore.close());

function identity(text: string): MessageIdentity {
  return { workspace: 'clinic', source: 'adt', control: ['ADT1', 'ELMST', '7'], bytes: [Buffer.from(text)] };
}

/** Claims a message that is kept later. */
async function claimOf(text: string, id: string = uuidv7(), signal = never): Promise<MessageLock | Message> {
  const one = identity(text);
  const control = await claims.controlOf(one);
  return claims.claim({ workspace: one.workspace, id, control }, [], signal);
}

async function claim(text: string, id: string = uuidv7()): Promise<MessageLock> {
  const claimed = await claimOf(text, id);
  if (claimed instanceof MessageLock) return claimed;
  throw new Error('it was taken before');
}

function keep(text: string, id: string, { control }: MessageLock): Promise<Message> {
  return messages.receive(
    { workspace: 'clinic', principal: { type: 'api_key', id: 'key-1' }, requestId: uuidv7() },
    {
      ...{ id, control, source: 'adt', format: 'hl7v2', media_type: 'application/hl7-v2' },
      ...{ bytes: [Buffer.from(text)], retentionDays: 1, about: [] },
    },
  );
}

test('a message that is under way is waited for, and then it was taken', async () => {
  const id = uuidv7();
  const first = await claim('waited for', id);
  const message = await keep('waited for', id, first);
  const second = claimOf('waited for');
  await messages.processed(message, { state: 'accepted', about: [], problems: [] });
  expect(await second).toMatchObject({ id, state: 'accepted' });
  await first.end({ isNoted: true });
});

test('the result of a message is seen by who reads after it; one that the store does not take leaves the message waiting', async () => {
  const noted = uuidv7();
  const message = await keep('noted', noted, await claim('noted', noted));
  await messages.processed(message, { state: 'accepted', about: [], problems: [] });
  expect(await messages.load('clinic', noted)).toMatchObject({ state: 'accepted' });

  const failing = uuidv7();
  const kept = await keep('failing', failing, await claim('failing', failing));
  const write = vi.spyOn(stateStore, 'write').mockRejectedValueOnce(unavailable('state store'));
  await messages.processed(kept, { state: 'accepted', about: [], problems: [] });
  write.mockRestore();
  expect(await messages.load('clinic', failing)).toMatchObject({ state: 'received' });
  const waiting: string[] = [];
  for await (const { id } of messages.rejected('clinic')) waiting.push(id);
  expect(waiting).toEqual(expect.arrayContaining([failing]));
  expect(waiting).not.toContain(noted);
});

test('whoever waits for one of which nothing was noted carries it out', async () => {
  const first = await claim('not noted');
  const second = claim('not noted');
  await first.end({ isNoted: false });
  expect(await second).toBeInstanceOf(MessageLock);
  await (await second).end({ isNoted: false });
});

test('one that a process left behind is taken over when its hold runs out', async () => {
  const left = await claim('left behind');
  await left.end({ isNoted: true });
  clock.aheadMs += RESERVATION_MS + 1;
  const second = await claim('left behind');
  expect(second.control).toEqual(left.control);
  await second.end({ isNoted: true });
});

test('one that a process left behind is taken over in time though the clock was set back', async () => {
  const left = await claim('set back');
  await left.end({ isNoted: true });
  clock.aheadMs -= 3_600_000;
  const second = await claim('set back');
  expect(second.control).toEqual(left.control);
  await second.end({ isNoted: true });
  clock.aheadMs += 3_600_000;
});

test('who waits stops when the service does', async () => {
  const first = await claim('stopped');
  const stopping = new AbortController();
  const waiting = claimOf('stopped', uuidv7(), stopping.signal);
  stopping.abort(new Error('stopping'));
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  await first.end({ isNoted: false });
});

test('a message that goes leaves the claim to another one in the same words', async () => {
  const [firstId, secondId] = [uuidv7(), uuidv7()];
  const first = await claim('rejected', firstId);
  const rejected = await keep('rejected', firstId, first);
  await messages.processed(rejected, { state: 'rejected', about: [], problems: [] });
  await first.end({ isNoted: true });
  const second = await claim('rejected', secondId);
  expect((await second.others()).map(({ id }) => id)).toContain(firstId);
  const taken = await keep('rejected', secondId, second);
  await messages.processed(taken, { state: 'accepted', about: [], problems: [] });
  await second.end({ isNoted: true });
  const hasGone = async (expired: string) => (await messages.load('clinic', expired)) === undefined;
  await messages.removeExpired(Date.now() + 2 * 86_400_000, async ({ id }) => id !== firstId, never);
  expect([await hasGone(firstId), await hasGone(secondId)]).toEqual([true, false]);
  expect(await claimOf('rejected')).toMatchObject({ id: secondId });
  await messages.removeExpired(Date.now() + 2 * 86_400_000, async () => false, never);
  const third = await claim('rejected');
  expect(await third.others()).toEqual([]);
  await third.end({ isNoted: false });
});

test('a message that was taken before the secret was changed is known after that', async () => {
  const id = uuidv7();
  const first = await claim('before', id);
  const message = await keep('before', id, first);
  await messages.processed(message, { state: 'accepted', about: [], problems: [] });
  await first.end({ isNoted: true });
  secrets = [new Uint8Array(32).fill(1), ...secrets];
  expect(await claimOf('before')).toMatchObject({ id, state: 'accepted' });
  const later = await claim('after');
  expect(later.control.claim).not.toBe(first.control.claim);
  await later.end({ isNoted: false });
});
