import { join } from 'node:path';
import { setInterval, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { ChangedFields } from '../../src/modules/eventStream/changedFields.ts';
import type { Attempt } from '../../src/modules/webhooks/attempts.ts';
import { encryptSecret, generateSecret } from '../../src/modules/webhooks/secrets.ts';
import { DeliverySession, MAX_WAITING, PARALLEL, WINDOW } from '../../src/modules/webhooks/session.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { EventBatch, EventLog } from '../../src/storage/eventLog.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { payerEvent } from '../support/samples.ts';
import { nothingErased, openState, sampleWebhook } from '../support/webhooks.ts';

const BATCH = 100;
const KEY = Buffer.alloc(32, 7);
const webhook = sampleWebhook({
  secrets: [{ sealed: encryptSecret(KEY, sampleWebhook(), generateSecret()) }],
});

/** A log without end, that tells how many events were taken from it. */
class EndlessLog {
  taken = 0;

  async *follow({ signal }: { signal: AbortSignal }): AsyncGenerator<EventBatch> {
    while (!signal.aborted) {
      // The one who asks for a batch has all of it in memory.
      const events = Array.from({ length: BATCH }, (_, index) => this.#event(this.taken + index + 1));
      this.taken += BATCH;
      yield { events, position: this.taken, caughtUp: false };
      await sleep(0);
    }
  }

  #event(position: number): RecordedEvent {
    const id = `payer-${position}`;
    const { workspace } = webhook;
    const stream = `${workspace}.payer-${id}`;
    return payerEvent({ id, workspace, stream, revision: 0, position, data: { id, name: 'A payer' } });
  }
}

let stateStore: StateStore;
let stop: AbortController;
let ended: Promise<unknown> | undefined;
beforeEach(async () => {
  stateStore = await openStateStore(`sqlite:${join(temporaryFolder(), 'state.db')}`);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await ended;
  await stateStore.close();
});

/** Delivers the endless log to an endpoint that is what `send` does. */
async function deliver(send: (signal: AbortSignal) => Promise<Omit<Attempt, 'at' | 'durationMs'>>) {
  const log = new EndlessLog();
  const eventLog = log as unknown as EventLog;
  const state = await openState(stateStore, webhook);
  const ports = {
    eventLog,
    changedFields: new ChangedFields(eventLog),
    clock: systemClock,
    schedule: [3_600_000],
    secretsKeys: async () => [KEY],
    narrowing: () => Promise.reject(new Error('not asked for')),
    sender: {
      send: async (_url: string, _headers: object, _body: string, signal: AbortSignal) => ({
        at: new Date().toISOString(),
        durationMs: 0,
        ...(await send(signal)),
      }),
    },
    erased: nothingErased,
    note: async () => 0,
    noteEveryMs: 60_000,
    disable: async () => undefined,
    onDelay: () => undefined,
    recordSent: async () => undefined,
    onUnreadable: () => undefined,
  };
  const behind = { isLive: false, offeredTo: 0, join: () => false };
  const session = new DeliverySession(ports, state, webhook, behind, 0);
  ended = session.run(stop.signal);
  // As its shard does.
  const save = async () => {
    for await (const _ of setInterval(100, undefined, { signal: stop.signal })) await session.flush();
  };
  save().catch(() => undefined);
  return { log, state };
}

/** Waits until a number no longer grows. */
async function settled(read: () => number): Promise<number> {
  let before = -1;
  return eventually(async () => {
    const now = read();
    const grew = now !== before;
    before = now;
    await sleep(300);
    if (grew || read() !== now || now === 0) throw new Error('it still grows');
    return now;
  }, 60_000);
}

test('an endpoint that never answers has a window of the log in memory, and no more', async () => {
  let sending = 0;
  const { log } = await deliver(async (signal) => {
    sending += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { error: 'aborted' };
  });
  const taken = await settled(() => log.taken);
  expect(taken).toBeGreaterThanOrEqual(WINDOW);
  expect(taken).toBeLessThanOrEqual(WINDOW + BATCH);
  expect(sending).toBe(PARALLEL);
});

test('an endpoint that takes nothing has so many records waiting, and no more', async () => {
  const { log, state } = await deliver(async () => ({ status: 500 }));
  const taken = await settled(() => log.taken);
  expect(state.waiting.size).toBeGreaterThanOrEqual(MAX_WAITING);
  expect(state.waiting.size).toBeLessThanOrEqual(MAX_WAITING + WINDOW);
  expect(taken).toBeLessThanOrEqual(MAX_WAITING + WINDOW + BATCH);
}, 90_000);
