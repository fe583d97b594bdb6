import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Position } from '../../domain/events/event.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { isUnavailable } from '../../platform/retry.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import { countBacklog } from './backlog.ts';
import { eventViews, unchangedEvents } from './cloudEvents.ts';

/** What a consumer is: a reader of the event stream, or a sink that this program runs. */
export const consumerTypes = ['reader', 'sink'] as const;

/** A name that a consumer gives itself. */
export const consumerName = z.string({ error: 'must be sent once' }).regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, {
  error:
    'must be 1 to 63 lower-case letters, digits, dots, hyphens and underscores, beginning with a letter or digit',
});

const consumerShape = z.object({
  workspace: z.string(),
  name: z.string(),
  type: z.enum(consumerTypes),
  /** Id of the key that it used last; null for a sink. */
  key: z.string().nullable(),
  view: z.enum(eventViews),
  eventTypes: z.array(z.string()),
  unchanged: z.enum(unchangedEvents),
  /** It got everything up to here. */
  position: z.number(),
  /** Where it goes on without a position: the last one that it confirmed; absent if it does not want that. */
  kept: z.number().optional(),
  /** When it was seen first, and last: milliseconds since 1970. */
  since: z.number(),
  lastContact: z.number(),
});

/** A named consumer of the events of a workspace. */
export type Consumer = z.infer<typeof consumerShape>;

/** Where a row is lost, the consumer is listed again at its next contact; one that has its position kept begins again. */
export const consumersTable: StateTable<Consumer> = { name: 'consumers_v1', body: consumerShape };

/** Consumers that a workspace may have. */
export const MAX_CONSUMERS = 100;
const MAX_COUNTED = 1_000;
const SCANNED_AT_ONCE = 1_000;
const ORDER_BYTES = 6;

/** A consumer falls behind when an event has waited for this long. */
export const BEHIND_MS = 3_600_000;
/** It is silent when its last contact was so long ago. */
export const SILENT_MS = 86_400_000;

function idOf({ workspace, name }: Pick<Consumer, 'workspace' | 'name'>): string {
  return `${workspace}/${name}`;
}

function rowOf(consumer: Consumer): StateRow<Consumer> {
  const id = idOf(consumer);
  const order = createHash('sha256').update(id).digest().readUIntBE(0, ORDER_BYTES);
  return { id, partition: consumer.workspace, order, revision: consumer.lastContact, body: consumer };
}

/** What is known of a consumer when it makes contact. */
export type Contact = Omit<Consumer, 'since' | 'lastContact' | 'kept' | 'position'>;

/** A consumer that is in contact. */
export interface ConnectedConsumer {
  /** Where it goes on without a position; undefined if none is kept. */
  kept: Position | undefined;
  /** Notes that it is in contact and, with a position, that it got everything up to there; `isConfirmed`: it will not need it again. */
  reached(position?: Position, isConfirmed?: boolean): void;
}

/**
 * The consumers that name themselves. Contacts are kept in memory, and written by `flush`: of an event, nothing is written. So another
 * process sees them up to that much later.
 */
export class Consumers {
  readonly #stateStore: StateStore;
  readonly #clock: Clock;
  readonly #known = new Map<string, Consumer>();
  readonly #unwritten = new Set<string>();

  constructor({ stateStore, clock }: { stateStore: StateStore; clock: Clock }) {
    this.#stateStore = stateStore;
    this.#clock = clock;
  }

  /**
   * Resolves with a consumer that makes contact. Rejects with `conflict` when the workspace has too many; with `unavailable` only if it
   * `isKept`: wants its position kept.
   */
  async connect(contact: Contact, isKept: boolean): Promise<ConnectedConsumer> {
    const id = idOf(contact);
    const before = await this.#admit(contact).catch((error) => {
      if (isKept || !isUnavailable(error)) throw error;
      return this.#known.get(id);
    });
    const now = this.#clock.now();
    const kept = isKept ? before?.kept : undefined;
    let consumer: Consumer = {
      ...contact,
      ...{ position: before?.position ?? 0, since: before?.since ?? now, lastContact: now },
      ...(isKept && { kept: kept ?? 0 }),
    };
    const note = () => {
      this.#known.set(id, consumer);
      this.#unwritten.add(id);
    };
    note();
    return {
      kept,
      reached: (position = consumer.position, isConfirmed = false) => {
        consumer = {
          ...consumer,
          ...{ position, lastContact: Math.max(this.#clock.now(), consumer.lastContact + 1) },
          ...(isKept && isConfirmed && { kept: position }),
        };
        note();
      },
    };
  }

  async #admit({ workspace, name }: Contact): Promise<Consumer | undefined> {
    const id = idOf({ workspace, name });
    const known = this.#known.get(id);
    const [row] = await this.#stateStore.load(consumersTable, [id]);
    const found = latestOf(row?.body, known);
    if (found === undefined && (await this.list(workspace)).length >= MAX_CONSUMERS) {
      throw new ServiceError(
        'conflict',
        `A workspace can have at most ${MAX_CONSUMERS} consumers. Remove one, or use another's name.`,
      );
    }
    return found;
  }

  /** Resolves with the consumers of a workspace, by name. Rejects with `unavailable`. */
  async list(workspace: string): Promise<Consumer[]> {
    // Several instances may have let one more in each.
    const query = { partition: workspace, limit: 2 * MAX_CONSUMERS };
    const stored = await this.#stateStore.page(consumersTable, query);
    const found = new Map(stored.map(({ id, body }) => [id, body]));
    for (const [id, consumer] of this.#known) {
      if (consumer.workspace !== workspace) continue;
      const latest = latestOf(found.get(id), this.#unwritten.has(id) ? consumer : undefined);
      if (latest) found.set(id, latest);
      // It was removed elsewhere.
      else this.#known.delete(id);
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Resolves with a consumer. Rejects with `not_found`, `unavailable`. */
  async find(workspace: string, name: string): Promise<Consumer> {
    const found = (await this.list(workspace)).find((one) => one.name === name);
    if (found === undefined) throw notFound('Consumer');
    return found;
  }

  /** Removes a consumer, and its position; at its next contact, it is there again. Rejects with `unavailable`. */
  async remove({ workspace, name }: Consumer): Promise<void> {
    const id = idOf({ workspace, name });
    this.#known.delete(id);
    this.#unwritten.delete(id);
    await this.#stateStore.remove(consumersTable, [id], Number.MAX_SAFE_INTEGER);
  }

  /**
   * Writes what was noted since the last time, except of workspaces that are not `isActive`, which is dropped; what cannot be written is,
   * the next time. Rejects with `unavailable`.
   */
  async flush(isActive: (workspace: string) => boolean): Promise<void> {
    for (const [id, { workspace }] of this.#known) {
      if (isActive(workspace)) continue;
      this.#known.delete(id);
      this.#unwritten.delete(id);
    }
    const ids = [...this.#unwritten];
    if (ids.length === 0) return;
    const rows = ids.flatMap((id) => this.#known.get(id) ?? []).map(rowOf);
    await this.#stateStore.save(consumersTable, rows);
    for (const { id, revision } of rows) {
      if (this.#known.get(id)?.lastContact === revision) this.#unwritten.delete(id);
    }
  }
}

/** Resolves with the consumers of all workspaces as they were last written. Rejects with `unavailable`. */
export async function storedConsumers(stateStore: StateStore): Promise<Consumer[]> {
  const found: Consumer[] = [];
  for (let after: string | undefined; ; ) {
    const rows = await stateStore.scan(consumersTable, { after, limit: SCANNED_AT_ONCE });
    found.push(...rows.map(({ body }) => body));
    if (rows.length < SCANNED_AT_ONCE) return found;
    after = rows.at(-1)?.id;
  }
}

/** Removes what is kept of the consumers of a workspace. Rejects with `unavailable`. */
export async function removeAllConsumers(stateStore: StateStore, workspace: string): Promise<void> {
  for (;;) {
    const rows = await stateStore.page(consumersTable, { partition: workspace, limit: SCANNED_AT_ONCE });
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await stateStore.remove(consumersTable, ids, Number.MAX_SAFE_INTEGER);
  }
}

function latestOf(one: Consumer | undefined, other: Consumer | undefined): Consumer | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.lastContact > other.lastContact ? one : other;
}

/** How far behind a consumer is. */
export interface ConsumerLag {
  consumer: Consumer;
  /** Events that it has not got, at most 1,000, and whether there are no more. */
  pending: number;
  isExact: boolean;
  /** When the oldest of these was recorded, milliseconds since 1970; undefined if there is none. */
  oldestAt: number | undefined;
}

/** Resolves with how far behind each consumer is, in the same order. Rejects with `unavailable`. */
export function consumerLags(eventLog: EventLog, consumers: readonly Consumer[]): Promise<ConsumerLag[]> {
  return Promise.all(
    consumers.map(async (consumer) => {
      // What was stored of a later state of the log than it has, after a restore, is meaningless.
      const after = (await eventLog.hasPosition(consumer.position)) ? consumer.position : 0;
      const { count, ...backlog } = await countBacklog(eventLog, consumer, after, MAX_COUNTED);
      return { consumer, pending: count, ...backlog };
    }),
  );
}
