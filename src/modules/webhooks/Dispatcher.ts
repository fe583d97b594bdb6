import { pause } from '../../platform/whenAvailable.ts';
import type { Leases } from '../../storage/leases.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { whileLeader } from '../../storage/whileLeader.ts';
import { pruneAttempts } from './attempts.ts';
import { deliverEndpoint, type EndpointPorts } from './deliverEndpoint.ts';
import { dropEarlierModels } from './earlierDelivery.ts';
import { removeDelivery } from './removeDelivery.ts';
import type { WebhookDirectory } from './WebhookDirectory.ts';

export interface DispatcherPorts extends EndpointPorts {
  leases: Leases;
  readModels: Pick<ReadModels, 'load' | 'page' | 'drop'>;
  directory: Pick<WebhookDirectory, 'all'>;
}

/** How often to look for webhooks whose messages may now be sent, or no longer, and for what was erased. */
const LOOK_MS = 250;
const RETRY_MS = 250;
const RETRY_MOST_MS = 5_000;
const CLEAN_EVERY_MS = 3_600_000;
/** How long an instance waits before it asks for a free webhook: the more it has, the longer it waits. */
const ASK_MS = 300;
const ASK_MORE_MS = 100;
const ASK_MOST_MS = 1_500;

/** The lease of the one instance that cleans up. */
const CLEANING_LEASE = 'webhooks';

/**
 * Delivers the messages of all webhooks whose leases this instance obtains, until the signal. Instances that start
 * together get about the same number each; when one is gone, the others take over its webhooks.
 */
export class Dispatcher {
  readonly #ports: DispatcherPorts;
  readonly #owner: string;
  /** By webhook id: ends the delivery, or the wait for its lease. */
  readonly #running = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();
  #held = 0;

  /** `owner` is a name that no other instance has. */
  constructor(ports: DispatcherPorts, owner: string) {
    this.#ports = ports;
    this.#owner = owner;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { leases } = this.#ports;
    const cleaning = whileLeader(leases, CLEANING_LEASE, this.#owner, signal, (leading) =>
      this.#repeat('', CLEAN_EVERY_MS, leading, () => this.#clean()),
    );
    const looking = this.#repeat('', LOOK_MS, signal, () => this.#ports.erased.look());
    for (; !signal.aborted; await pause(LOOK_MS, signal)) {
      for (const { id } of this.#ports.directory.all()) {
        const running = this.#running.get(id);
        if (this.#ports.findSending(id) === undefined) running?.abort();
        else if (!running) this.#start(id, signal);
      }
    }
    await Promise.all([cleaning, looking, ...this.#tasks]);
  }

  #start(id: string, signal: AbortSignal): void {
    const stop = new AbortController();
    this.#running.set(id, stop);
    const end = () => stop.abort();
    signal.addEventListener('abort', end, { once: true });
    const task = this.#deliver(id, stop.signal).finally(() => {
      signal.removeEventListener('abort', end);
      this.#running.delete(id);
      this.#tasks.delete(task);
    });
    this.#tasks.add(task);
  }

  async #deliver(id: string, signal: AbortSignal): Promise<void> {
    await pause(this.#askMs(), signal);
    const work = async (leading: AbortSignal) => {
      this.#held += 1;
      await this.#repeat(id, RETRY_MS, leading, () => deliverEndpoint(this.#ports, id, leading));
      this.#held -= 1;
    };
    await whileLeader(this.#ports.leases, `webhook:${id}`, this.#owner, signal, work, () => this.#askMs());
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

  async #repeat(id: string, pauseMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        await work();
        failures = 0;
      } catch (error) {
        this.#ports.onDelay(id, error);
        failures += 1;
      }
      await pause(failures === 0 ? pauseMs : Math.min(RETRY_MS * 2 ** failures, RETRY_MOST_MS), signal);
    }
  }
}
