import { pause } from '../../platform/retry.ts';
import { SharedSemaphore } from '../../platform/threads/semaphore.ts';
import { type Leases, runAsLeader } from '../../storage/leases.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { pruneAttempts } from './attempts.ts';
import { aborted, LiveEvents } from './liveEvents.ts';
import { Shard, type ShardPorts } from './shard.ts';
import { dropEarlierModels, removeDelivery, shardOf } from './store.ts';
import type { Webhook, WebhookDirectory } from './webhook.ts';

interface DispatcherPorts extends Omit<ShardPorts, 'liveEvents' | 'opening' | 'onActive'> {
  leases: Leases;
  readModels: Pick<ReadModels, 'load' | 'page' | 'drop'>;
  directory: Pick<WebhookDirectory, 'all'>;
  /** Calls back when a webhook changes, or whether its messages may be sent; returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** How often to look for what is to be tried again, and after how many of these for what was erased. */
const TICK_MS = 100;
const ERASED_TICKS = 3;
const SAVE_MS = 1_000;
const RETRY_MS = 250;
const RETRY_MOST_MS = 5_000;
const CLEAN_EVERY_MS = 3_600_000;
/** Number of sessions being opened concurrently. */
const OPENING = 32;
/** How long an instance waits before it asks for a free shard: the more it has, the longer it waits. */
const ASK_MS = 300;
const ASK_MORE_MS = 100;
const ASK_MOST_MS = 1_500;

/** The lease of the one instance that cleans up. */
export const CLEANING_LEASE = 'webhooks';

/**
 * Delivers the messages of all webhooks of whose shards this instance obtains the leases, until the signal. Instances that start
 * together get about the same number each; when one is gone, the others take over its shards.
 */
export class Dispatcher {
  readonly #ports: DispatcherPorts;
  readonly #owner: string;
  readonly #opening = new SharedSemaphore(OPENING);
  /** Those that have a webhook whose messages may be sent: this instance leads them, or asks for their leases. */
  readonly #wanted = new Map<number, Promise<void>>();
  /** Those that this instance leads. */
  readonly #shards = new Map<number, Shard>();
  #liveEvents: LiveEvents;
  /** Aborts when the live events have failed, and everything has to begin again from what is stored. */
  #failed = new AbortController();
  #active = Promise.withResolvers<void>();
  #held = 0;

  /** `owner` is a name that no other instance has. */
  constructor(ports: DispatcherPorts, owner: string) {
    this.#ports = ports;
    this.#owner = owner;
    this.#liveEvents = new LiveEvents(ports);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { leases, onChange } = this.#ports;
    const cleaning = runAsLeader(leases, CLEANING_LEASE, this.#owner, signal, (leading) =>
      this.#repeat(CLEAN_EVERY_MS, leading, () => this.#clean()),
    );
    const end = onChange(() => this.#update(signal));
    signal.addEventListener('abort', () => this.#active.resolve(), { once: true });
    this.#update(signal);
    await Promise.all([
      cleaning,
      this.#keepReading(signal),
      this.#keepTicking(signal),
      this.#keepSaving(signal),
    ]);
    end();
    await Promise.all(this.#wanted.values());
  }

  #update(signal: AbortSignal): void {
    for (const { id } of this.#ports.directory.all()) {
      const number = shardOf(id);
      this.#shards.get(number)?.update(id);
      if (this.#wanted.has(number) || this.#ports.findSending(id) === undefined) continue;
      this.#wanted.set(number, this.#lead(number, signal));
    }
  }

  async #lead(number: number, signal: AbortSignal): Promise<void> {
    await pause(this.#askMs(), signal);
    const work = async (leading: AbortSignal) => {
      this.#held += 1;
      await this.#repeat(RETRY_MS, leading, () => this.#deliver(number, leading));
      this.#held -= 1;
    };
    await runAsLeader(this.#ports.leases, `webhooks-${number}`, this.#owner, signal, work, () =>
      this.#askMs(),
    );
  }

  /** Resolves at the signal, or when the shard has to be opened again. */
  async #deliver(number: number, signal: AbortSignal): Promise<void> {
    const failed = this.#failed.signal;
    const ports: ShardPorts = {
      ...this.#ports,
      liveEvents: this.#liveEvents,
      opening: this.#opening,
      onActive: () => this.#active.resolve(),
    };
    const isOfShard = ({ id, state }: Webhook) => shardOf(id) === number && state !== 'deleted';
    const webhooks = this.#ports.directory.all().filter(isOfShard);
    const shard = await Shard.open(ports, number, webhooks);
    this.#shards.set(number, shard);
    // What has changed since.
    for (const { id } of this.#ports.directory.all()) if (shardOf(id) === number) shard.update(id);
    await aborted(AbortSignal.any([signal, failed, shard.lost]));
    this.#shards.delete(number);
    await shard.end();
  }

  async #keepReading(signal: AbortSignal): Promise<void> {
    await this.#repeat(0, signal, async () => {
      try {
        await this.#liveEvents.run(signal);
      } catch (error) {
        this.#liveEvents = new LiveEvents(this.#ports);
        this.#failed.abort();
        this.#failed = new AbortController();
        throw error;
      }
    });
  }

  /** Does nothing while nothing is to be sent. */
  async #keepTicking(signal: AbortSignal): Promise<void> {
    for (let ticks = 0; !signal.aborted; await pause(TICK_MS, signal)) {
      if (![...this.#shards.values()].some(({ isActive }) => isActive)) {
        this.#active = Promise.withResolvers();
        ticks = 0;
        await this.#active.promise;
      }
      if (ticks % ERASED_TICKS === 0) await this.#ports.erased.refresh();
      ticks += 1;
      for (const shard of this.#shards.values()) shard.tick();
    }
  }

  async #keepSaving(signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await pause(SAVE_MS, signal))
      await Promise.all([...this.#shards.values()].map((shard) => shard.flush()));
  }

  /** Random, so that instances that start together do not ask at the same time. */
  #askMs(): number {
    return Math.min(ASK_MS + this.#held * ASK_MORE_MS, ASK_MOST_MS) * (0.5 + Math.random());
  }

  async #clean(): Promise<void> {
    const { stateStore, readModels, clock, directory } = this.#ports;
    await pruneAttempts(stateStore, clock.now());
    const deleted = directory.all().filter(({ state }) => state === 'deleted');
    await removeDelivery(
      stateStore,
      deleted.map(({ id }) => id),
    );
    const others = directory.all().filter(({ state }) => state !== 'deleted');
    await dropEarlierModels(
      readModels,
      stateStore,
      others.map(({ id }) => id),
    );
  }

  async #repeat(pauseMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        await work();
        failures = 0;
      } catch (error) {
        this.#ports.onDelay('', error);
        failures += 1;
      }
      await pause(failures === 0 ? pauseMs : Math.min(RETRY_MS * 2 ** failures, RETRY_MOST_MS), signal);
    }
  }
}

/** What the thread that delivers webhooks reports to the service, for its log. */
export type WebhooksMessage =
  | { kind: 'delayed'; webhookId: string; error: Record<string, unknown> }
  | { kind: 'state_lost'; webhookId: string }
  | { kind: 'unreadable'; webhookId: string; eventId: string; position: number };
