import type { Position } from '../../domain/events/event.ts';
import { unavailable } from '../../platform/errors.ts';
import { Endpoint, type EndpointPorts } from './endpoint.ts';
import { DeliveryState } from './sessionState.ts';
import {
  type DeliveryPosition,
  deliveryTable,
  loadPositions,
  shardRow,
  shardRowId,
  takeoverRevision,
} from './store.ts';
import type { Webhook } from './webhook.ts';

export interface ShardPorts extends EndpointPorts {
  /** Returns the webhook as of now, while its messages may be sent; undefined as long as they may not. */
  findSending(webhookId: string): Webhook | undefined;
}

const PAGE = 500;
/** Number of webhooks saved concurrently. */
const SAVES_AT_ONCE = 32;
/** How often the position is saved: after a crash, the log is read again from there. */
const SAVE_EVERY_MS = 5_000;

interface ShardRow {
  log: string;
  position: Position;
  revision: number;
}

/**
 * The webhooks of a shard, while this instance has its lease. One row says how far all of them have got that follow the live
 * events: those that have nothing to send cost no writes.
 */
export class Shard {
  readonly #ports: ShardPorts;
  readonly #number: number;
  readonly #row: ShardRow;
  /** By webhook id. */
  readonly #endpoints = new Map<string, Endpoint>();
  /** Those with a session. */
  readonly #active = new Set<Endpoint>();
  /** Those whose messages may no longer be sent, until their rows say where they are. */
  readonly #ending = new Set<Endpoint>();
  readonly #lost = new AbortController();
  #savedAt: number;

  private constructor(ports: ShardPorts, number: number, row: ShardRow) {
    const onActive = (endpoint: Endpoint) => {
      this.#active.add(endpoint);
      ports.onActive(endpoint);
    };
    this.#ports = { ...ports, onActive };
    this.#number = number;
    this.#row = row;
    this.#savedAt = ports.clock.elapsed();
  }

  /**
   * Takes over a shard, with these webhooks: whatever an earlier owner still saves of its position has no effect. Rejects with
   * `unavailable`.
   */
  static async open(ports: ShardPorts, number: number, webhooks: readonly Webhook[]): Promise<Shard> {
    const { stateStore, eventLog, clock } = ports;
    const log = await eventLog.identity();
    const [stored] = await stateStore.load(deliveryTable, [shardRowId(number)]);
    const known = stored?.body.kind === 'shard' && stored.body.log === log ? stored.body.position : 0;
    const position = (await eventLog.hasPosition(known)) ? known : 0;
    const revision = takeoverRevision(stored?.revision, clock.now());
    const row = { log, position, revision };
    if (!(await stateStore.swap(deliveryTable, shardRow(number, row), stored?.revision)))
      throw unavailable('state store');
    const shard = new Shard(ports, number, row);
    await shard.#load(webhooks);
    return shard;
  }

  /** Aborts when another owner has taken the shard over. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get isActive(): boolean {
    return this.#active.size > 0;
  }

  /** Follows what has changed in a webhook, and in whether its messages may be sent. */
  update(id: string): void {
    const webhook = this.#ports.findSending(id);
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) {
      if (webhook) this.#endpoints.set(id, new Endpoint(this.#ports, webhook, undefined));
    } else if (webhook === undefined) {
      this.#ending.add(endpoint);
      void this.#endOne(endpoint);
    } else if (webhook !== endpoint.webhook && !this.#ending.has(endpoint)) {
      endpoint.update(webhook);
    }
  }

  /** Begins what is due by now. */
  tick(): void {
    const now = this.#ports.clock.elapsed();
    for (const endpoint of this.#active) if (endpoint.dueAt <= now) endpoint.tick();
  }

  /** Saves what has changed. Never rejects: what could not be saved is saved with the next call. */
  async flush(): Promise<void> {
    const { clock, onDelay } = this.#ports;
    const position = this.#position;
    let isSaved = true;
    const work = async (endpoint: Endpoint) => {
      try {
        await endpoint.flush();
      } catch (error) {
        isSaved = false;
        onDelay(endpoint.webhook.id, error);
      }
      if (!endpoint.isActive) this.#active.delete(endpoint);
    };
    await atOnce([...this.#active], work);
    for (const endpoint of this.#ending) await this.#endOne(endpoint);
    const saveAt = this.#savedAt + SAVE_EVERY_MS;
    if (!isSaved || this.#ending.size > 0 || clock.elapsed() < saveAt) return;
    await this.#save(Math.min(position, this.#position)).catch((error) => onDelay('', error));
  }

  /** Ends the delivery, and saves how far all of them have got. Never rejects. */
  async end(): Promise<void> {
    const position = this.#position;
    const endpoints = [...this.#endpoints.values()];
    const ends = await Promise.allSettled(
      endpoints.map((endpoint) => endpoint.end(!this.#ending.has(endpoint))),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed === undefined && !this.#lost.signal.aborted)
      await this.#save(Math.min(position, this.#position)).catch((error) => this.#ports.onDelay('', error));
  }

  async #load(webhooks: readonly Webhook[]): Promise<void> {
    const { stateStore, eventLog, findSending } = this.#ports;
    const isPosition = new Map<Position, boolean>();
    for (let from = 0; from < webhooks.length; from += PAGE) {
      const some = webhooks.slice(from, from + PAGE);
      const stored = await loadPositions(
        stateStore,
        some.map(({ id }) => id),
      );
      for (const webhook of some) {
        const at = stored.get(webhook.id)?.at;
        if (at && !isPosition.has(at.position))
          isPosition.set(at.position, await eventLog.hasPosition(at.position));
        const isKnown = at?.log === this.#row.log && isPosition.get(at.position) === true;
        // Its row must say where it is before the position of the shard is saved.
        if (findSending(webhook.id) === undefined && at?.live) await DeliveryState.open(this.#ports, webhook);
        const current = findSending(webhook.id);
        if (current === undefined) continue;
        const caughtUp = at && isKnown && hasCaughtUp(at) ? at : undefined;
        this.#endpoints.set(webhook.id, new Endpoint(this.#ports, current, caughtUp));
      }
    }
  }

  /** The place up to which every webhook that follows the live events has everything, according to its row. */
  get #position(): Position {
    let position = this.#ports.liveEvents.position ?? 0;
    for (const { limit } of this.#active) position = Math.min(position, limit);
    return position;
  }

  async #endOne(endpoint: Endpoint): Promise<void> {
    const { id } = endpoint.webhook;
    try {
      await endpoint.end(false);
    } catch (error) {
      return this.#ports.onDelay(id, error);
    }
    if (!this.#ending.delete(endpoint)) return;
    this.#active.delete(endpoint);
    this.#endpoints.delete(id);
    this.update(id);
  }

  async #save(position: Position): Promise<void> {
    if (position <= this.#row.position) return;
    const { log, revision } = this.#row;
    const row = { log, position, revision: revision + 1 };
    this.#savedAt = this.#ports.clock.elapsed();
    if (!(await this.#ports.stateStore.swap(deliveryTable, shardRow(this.#number, row), revision)))
      return this.#lost.abort();
    Object.assign(this.#row, row);
  }
}

/** Whether nothing is left to do for a webhook but to follow the log. */
function hasCaughtUp(at: DeliveryPosition): boolean {
  const { live, position, followed, pending, blocked, problem, retryFailedAfter } = at;
  const isIdle = position === followed && pending === 0 && blocked === 0 && retryFailedAfter === undefined;
  return live === true && isIdle && problem === undefined;
}

async function atOnce<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const remaining = items.values();
  const worker = async () => {
    for (const item of remaining) await work(item);
  };
  await Promise.all(Array.from({ length: SAVES_AT_ONCE }, worker));
}
