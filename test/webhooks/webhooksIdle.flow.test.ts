import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { LiveEvents, type Subscriber } from '../../src/modules/webhooks/liveEvents.ts';
import { deliveryTable } from '../../src/modules/webhooks/store.ts';
import type { EventBatch, FollowOptions } from '../../src/storage/eventLog.ts';
import { eventually } from '../support/eventually.ts';
import { payerEvent, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import {
  Delivery,
  delivered,
  HookSuite,
  patch,
  payersOf,
  showWebhook,
  webhooksPath,
  withStateStore,
} from '../support/webhooks.ts';

/** Longer than between two saves of a shard's position. */
const SAVED_MS = 10_000;

onEveryEngine((start) => {
  const hooks = new HookSuite(start);

  /** The rows of a webhook's delivery. */
  const rowOf = (id: string) =>
    withStateStore(hooks.service, async (stateStore) => (await stateStore.load(deliveryTable, [id]))[0]);

  /** Waits until a webhook is no more than a subscriber, having noted in the log how far it has got. */
  async function untilIdle(id: string): Promise<void> {
    await delivered(hooks.client, id);
    hooks.clock.pass(61_000);
    await eventually(async () =>
      expect((await rowOf(id))?.body).toMatchObject({ live: true, noted: expect.any(Number) }),
    );
  }

  test('a webhook that has nothing to send is not written, and still gets further', async () => {
    const { id, endpoint } = await hooks.open({ kinds: ['provider'] });
    await hooks.client.post('/integration/providers', samples.provider());
    await untilIdle(id);
    const before = await showWebhook(hooks.client, id);
    const row = await rowOf(id);
    await hooks.write(payersOf(3), 1);
    await eventually(async () => {
      hooks.clock.pass(SAVED_MS);
      const { delivery } = await showWebhook(hooks.client, id);
      expect(Number(delivery.position)).toBeGreaterThan(Number(before.delivery.position));
    });
    expect(await rowOf(id)).toEqual(row);
    expect(endpoint.received).toHaveLength(1);
  });

  test('what follows while it is disabled is sent when it is enabled, whoever delivers by then', async () => {
    const { id, endpoint } = await hooks.open();
    const other = await hooks.open();
    await hooks.write(payersOf(1), 1);
    await untilIdle(id);
    await patch(hooks.client, `${webhooksPath}/${id}`, { state: 'disabled' });
    await eventually(async () => expect((await rowOf(id))?.body).not.toHaveProperty('live'));
    await hooks.write(payersOf(2), 1);
    await hooks.expectAll(other);
    hooks.clock.pass(SAVED_MS);
    await hooks.delivery.stop();
    hooks.delivery = await Delivery.start(hooks.service, { clock: hooks.clock });
    await hooks.write(payersOf(2), 1);
    await hooks.expectAll(other);
    hooks.clock.pass(SAVED_MS);
    await hooks.delivery.stop();
    expect(endpoint.received).toHaveLength(1);
    hooks.delivery = await Delivery.start(hooks.service, { clock: hooks.clock });
    await patch(hooks.client, `${webhooksPath}/${id}`, { state: 'enabled' });
    await hooks.expectAll({ endpoint, id });
    expect(endpoint.received).toHaveLength(5);
  });

  test('an instance that starts goes on where the last one ended, and repeats nothing', async () => {
    const all = [await hooks.open(), await hooks.open(), await hooks.open({ kinds: ['provider'] })];
    await hooks.write(payersOf(3), 1);
    for (const { id } of all) await delivered(hooks.client, id);
    await hooks.delivery.stop();
    await hooks.write(payersOf(3), 1);
    hooks.delivery = await Delivery.start(hooks.service, { clock: hooks.clock });
    for (const { id } of all) await delivered(hooks.client, id);
    expect(all.map(({ endpoint }) => endpoint.received.length)).toEqual([6, 6, 0]);
  });
});

describe('the live events', () => {
  /** A log that tells how often it was followed, and yields what it is given. */
  class FakeLog {
    readonly followed: FollowOptions[] = [];
    readonly #batches: EventBatch[] = [];
    #wake = Promise.withResolvers<void>();

    async *follow(options: FollowOptions): AsyncGenerator<EventBatch> {
      this.followed.push(options);
      const ended = new Promise<void>((resolve) => options.signal.addEventListener('abort', () => resolve()));
      let { after } = options;
      while (!options.signal.aborted) {
        const batch = this.#batches.find(({ position }) => position > after);
        if (batch) {
          after = batch.position;
          yield batch;
        } else {
          await Promise.race([this.#wake.promise, ended]);
        }
      }
    }

    append(event: RecordedEvent): void {
      this.#batches.push({ events: [event], position: event.position, caughtUp: true });
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    }
  }

  function eventOf(workspace: string, position: number): RecordedEvent {
    const id = `payer-${position}`;
    const stream = `${workspace}.payer-${id}`;
    return payerEvent({ id, workspace, stream, revision: 0, position, data: { id, name: 'A payer' } });
  }

  function subscriber(live: LiveEvents, workspace: string, eventTypes: string[], after = 0, room = 100) {
    const got: number[] = [];
    const self = {
      webhook: { id: `wh_${workspace}`, workspace },
      eventTypes: new Set(eventTypes),
      get position() {
        return got.at(-1) ?? after;
      },
      got,
      left: 0,
      offer: ({ position }: RecordedEvent) => got.length < room && got.push(position) > 0,
      leftBehind: () => {
        self.left += 1;
      },
    } satisfies Subscriber & { got: number[]; left: number };
    live.add(self);
    return self;
  }

  async function withLive(work: (log: FakeLog, live: LiveEvents) => Promise<void>): Promise<void> {
    const log = new FakeLog();
    const changes = async (events: RecordedEvent[]) =>
      events.map(() => ({ sent: '{}', changed: ['name'], isFirst: true }));
    const live = new LiveEvents({
      eventLog: log,
      changedFields: { changes },
      onDelay: () => undefined,
      onUnreadable: () => undefined,
    });
    const stop = new AbortController();
    const ended = live.run(stop.signal);
    await work(log, live);
    stop.abort();
    await ended;
  }

  test('are read once for a thousand webhooks, and offered to those that want them', () =>
    withLive(async (log, live) => {
      const all = Array.from({ length: 1_000 }, (_, n) =>
        subscriber(live, `w${n % 50}`, n < 50 ? ['PayerUpserted'] : ['ProviderUpserted']),
      );
      log.append(eventOf('w7', 1));
      log.append(eventOf('w8', 2));
      await eventually(() => expect(live.position).toBe(2));
      expect(log.followed).toHaveLength(1);
      expect(all.filter(({ got }) => got.length > 0)).toEqual([all[7], all[8]]);
      for (const one of all) live.delete(one);
      expect(live.position).toBeUndefined();
    }));

  test('one that begins earlier gets what it lacks, and the others nothing twice', () =>
    withLive(async (log, live) => {
      const first = subscriber(live, 'a', ['PayerUpserted']);
      log.append(eventOf('a', 1));
      log.append(eventOf('b', 2));
      log.append(eventOf('a', 3));
      await eventually(() => expect(first.got).toEqual([1, 3]));
      const second = subscriber(live, 'b', ['PayerUpserted']);
      const third = subscriber(live, 'a', ['PayerUpserted'], 1);
      await eventually(() => expect([second.got, third.got]).toEqual([[2], [3]]));
      log.append(eventOf('a', 4));
      await eventually(() =>
        expect([first.got, third.got]).toEqual([
          [1, 3, 4],
          [3, 4],
        ]),
      );
    }));

  test('one without room is left behind, and holds up no other', () =>
    withLive(async (log, live) => {
      const full = subscriber(live, 'a', ['PayerUpserted'], 0, 1);
      const other = subscriber(live, 'a', ['PayerUpserted']);
      for (const position of [1, 2, 3]) log.append(eventOf('a', position));
      await eventually(() => expect(other.got).toEqual([1, 2, 3]));
      expect([full.got, full.left]).toEqual([[1], 1]);
    }));
});
