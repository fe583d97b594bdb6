import { RowOrder } from '../../../storage/RowOrder.ts';
import type { StateStore } from '../../../storage/stateStore.ts';
import { type Message, messageLinksTable, messagesTable } from './message.ts';
import { EXPIRING, type LinkRow, linkId, linkRow, toMessage } from './messageRows.ts';
import { orderTimeOf } from './orderTimeOf.ts';

const PAGE = 200;

/**
 * The links that lead to messages, by partition: that of the record they concern, that of the list they are on. A
 * message without links could never be found. Methods reject with `unavailable`.
 */
export class MessageLinks {
  readonly #stateStore: StateStore;
  readonly #rowOrder = new RowOrder();

  constructor(stateStore: StateStore) {
    this.#stateStore = stateStore;
  }

  /** Leads to a message from each of the partitions: the newest first, but from `EXPIRING` the next to expire. */
  async add(
    { id, ordered_at, received_at, expires_at }: Message,
    partitions: readonly string[],
  ): Promise<void> {
    const order = this.#rowOrder.newestFirst(Date.parse(orderTimeOf({ ordered_at, received_at })));
    const expiring = this.#rowOrder.oldestFirst(Date.parse(expires_at));
    const rows = partitions.map((one) => linkRow(one, id, one === EXPIRING ? expiring : order));
    for (let at = 0; at < rows.length; at += PAGE) {
      await this.#stateStore.save(messageLinksTable, rows.slice(at, at + PAGE));
    }
  }

  /** Whether a message is still to expire: removing it begins with that. */
  async isExpiring(id: string): Promise<boolean> {
    return (await this.#stateStore.load(messageLinksTable, [linkId(EXPIRING, id)])).length > 0;
  }

  /** Removes the links to a message from these partitions. */
  async remove(id: string, partitions: readonly string[]): Promise<void> {
    const ids = partitions.map((partition) => linkId(partition, id));
    await this.#stateStore.remove(messageLinksTable, ids, 1);
  }

  /** Yields the links of a partition in their order, in groups. */
  async *in(partition: string): AsyncGenerator<LinkRow[]> {
    for (let after: number | undefined; ; ) {
      const links = await this.page(partition, { limit: PAGE, ...(after !== undefined && { after }) });
      yield links;
      if (links.length < PAGE) return;
      after = links.at(-1)?.order;
    }
  }

  /** Resolves with links of a partition in their order: those after an order, if there is one. */
  page(partition: string, query: { limit: number; after?: number }): Promise<LinkRow[]> {
    return this.#stateStore.page(messageLinksTable, { ...query, partition });
  }

  /** Yields the messages to which the links of a partition lead, in their order. */
  async *messagesIn(partition: string): AsyncGenerator<Message> {
    for await (const links of this.in(partition)) yield* await this.messagesOf(links);
  }

  /** Resolves with the messages to which links lead, omitting missing ones. */
  async messagesOf(links: readonly LinkRow[]): Promise<Message[]> {
    const ids = links.map(({ body }) => body.message);
    const rows = await this.#stateStore.load(messagesTable, ids);
    const byId = new Map(rows.map((row) => [row.id, toMessage(row)]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  /** Yields the links to what has expired by a moment, in milliseconds since 1970. */
  async *expiredBy(now: number): AsyncGenerator<LinkRow> {
    const due = this.#rowOrder.oldestFirst(now);
    for await (const links of this.in(EXPIRING)) {
      for (const link of links) {
        if (link.order >= due) return;
        yield link;
      }
    }
  }
}
