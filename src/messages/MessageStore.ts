import { Readable } from 'node:stream';
import { notFound } from '../errors.ts';
import type { Caller } from '../events/newEvent.ts';
import type { DocumentStore } from '../ports/documentStore.ts';
import { RowOrder } from '../ports/RowOrder.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from '../reads/page.ts';
import type { IncomingMessage } from './IncomingMessage.ts';
import { MAX_ABOUT, type Message, type MessageBody, messageLinksTable, messagesTable } from './message.ts';
import {
  EXPIRING,
  type LinkRow,
  linkId,
  linkRow,
  partitionsOf,
  REJECTED,
  rejectedPartition,
  rowOf,
  streamOf,
  streamsOf,
  toMessage,
} from './messageRows.ts';
import { orderTimeOf } from './orderTimeOf.ts';
import { removeClaim } from './removeClaim.ts';

const DAY_MS = 86_400_000;
const PAGE = 200;

export interface MessagePorts {
  stateStore: StateStore;
  documentStore: DocumentStore;
}

/** The result of processing a message. */
export type ProcessedMessage = Pick<MessageBody, 'state' | 'about' | 'problems' | 'configuration'>;

/**
 * Messages of EMRs as they arrived, for as long as they are kept, and the result of each. They are the source of what
 * the log says, but not part of it: events name the message that they come from. Methods reject with `unavailable`.
 */
export class MessageStore {
  readonly #stateStore: StateStore;
  readonly #documentStore: DocumentStore;
  readonly #rowOrder = new RowOrder();

  constructor({ stateStore, documentStore }: MessagePorts) {
    this.#stateStore = stateStore;
    this.#documentStore = documentStore;
  }

  /** Keeps a message, durably, before anything that it says is written: from then on erasing a record finds it. */
  async receive(
    caller: Caller,
    { id, bytes, retentionDays, about, ...told }: IncomingMessage,
  ): Promise<Message> {
    const { size, sha256 } = await this.#documentStore.put(id, Readable.from(bytes));
    const now = Date.now();
    const message: Message = {
      ...{ ...told, id, size, sha256, workspace: caller.workspace, state: 'received', problems: [] },
      ...{ records: about.length, about: about.slice(0, MAX_ABOUT) },
      received_at: new Date(now).toISOString(),
      expires_at: new Date(now + retentionDays * DAY_MS).toISOString(),
      ...{ sent_by: caller.principal, request_id: caller.requestId },
    };
    const expiring = this.#rowOrder.oldestFirst(Date.parse(message.expires_at));
    // Links first: a row without them could never be found.
    await this.#link(message, partitionsOf({ ...message, about }), [linkRow(EXPIRING, id, expiring)]);
    const order = this.#rowOrder.newestFirst(now);
    await this.#stateStore.save(messagesTable, [rowOf(message, order, 1)]);
    await this.#documentStore.confirm(id);
    return message;
  }

  /** Notes the result of a message, and of the records it concerns, if it still exists. */
  async processed({ id }: Message, processed: ProcessedMessage): Promise<void> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    if (row === undefined) return;
    const told = new Map(processed.about.map((one) => [JSON.stringify([one.kind, one.id]), one]));
    const about = row.body.about.map((one) => told.get(JSON.stringify([one.kind, one.id])) ?? one);
    const message = { ...row.body, ...processed, about, id };
    await this.#stateStore.swap(messagesTable, rowOf(message, row.order, row.revision + 1), row.revision);
    if (message.state !== 'accepted') return;
    await this.#stateStore.remove(messageLinksTable, [linkId(rejectedPartition(message.workspace), id)], 1);
  }

  /**
   * Notes that a message concerns further records, before they are written. Rejects with `not_found` where it no
   * longer exists.
   */
  async relate(
    { id, workspace }: Pick<Message, 'id' | 'workspace'>,
    about: MessageBody['about'],
  ): Promise<void> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    if (row?.body.workspace !== workspace) throw notFound('Message');
    const known = new Set(streamsOf(workspace, row.body.about));
    const added = about.filter((one) => !known.has(streamOf(workspace, one)));
    if (added.length === 0) return;
    await this.#link({ ...row.body, id }, streamsOf(workspace, added));
    const all = [...row.body.about, ...added];
    const records = Math.max(row.body.records, all.length);
    const message = { ...row.body, id, records, about: all.slice(0, MAX_ABOUT) };
    const isThere = await this.#stateStore.swap(
      messagesTable,
      rowOf(message, row.order, row.revision + 1),
      row.revision,
    );
    if (!isThere) throw notFound('Message');
  }

  /** Notes that what was written from a message now matches a configuration of its source, if it still exists. */
  async readBy({ id }: Pick<Message, 'id'>, configuration: number): Promise<void> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    if (row === undefined || row.body.configuration === configuration) return;
    const message = { ...row.body, configuration, id };
    await this.#stateStore.swap(messagesTable, rowOf(message, row.order, row.revision + 1), row.revision);
  }

  /**
   * Notes which message corrects one, which then no longer waits; resolves with false where another already does, or
   * it was accepted or is gone.
   */
  async correctedBy(
    { id, workspace }: Pick<Message, 'id' | 'workspace'>,
    correction: string,
  ): Promise<boolean> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    if (row === undefined || row.body.corrected_by !== undefined || row.body.state === 'accepted')
      return false;
    const message = { ...row.body, corrected_by: correction, id };
    const next = rowOf(message, row.order, row.revision + 1);
    if (!(await this.#stateStore.swap(messagesTable, next, row.revision))) return false;
    await this.#stateStore.remove(messageLinksTable, [linkId(rejectedPartition(workspace), id)], 1);
    return true;
  }

  /** Removes a message that had no effect. */
  async withdraw({ id }: Pick<Message, 'id'>): Promise<void> {
    await this.#remove(linkRow(EXPIRING, id, 0));
  }

  /** Resolves with a message of a workspace; undefined where it does not exist, or no longer does. */
  async load(workspace: string, id: string): Promise<Message | undefined> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    return row?.body.workspace === workspace ? { ...row.body, id } : undefined;
  }

  /** Whether the document store's object with an id belongs to a message. */
  async has(id: string): Promise<boolean> {
    return (await this.#stateStore.load(messagesTable, [id])).length > 0;
  }

  /** Resolves with the bytes of a message, as they arrived. */
  bytes({ id }: Message): Promise<Readable> {
    return this.#documentStore.get(id);
  }

  /**
   * Resolves with a page of the messages of a workspace, newest first; `rejected`: those that were not accepted
   * completely, or are not finished. A page may have fewer than `limit` although there are more. Rejects with
   * `validation_failed` for a token of another list.
   */
  async list(
    workspace: string,
    { limit, pageToken, rejected = false }: PageRequest & { rejected?: boolean },
  ): Promise<Page<Message>> {
    const binding = rejected ? REJECTED : undefined;
    const after = pageToken === undefined ? undefined : decodeToken(pageToken, binding);
    const query = { limit: limit + 1, ...(after !== undefined && { after }) };
    if (!rejected) {
      const rows = await this.#stateStore.page(messagesTable, { ...query, partition: workspace });
      return { items: rows.slice(0, limit).map(toMessage), next_page_token: tokenBehind(rows, limit) };
    }
    const partition = rejectedPartition(workspace);
    const links = await this.#stateStore.page(messageLinksTable, { ...query, partition });
    const items = await this.#linked(links.slice(0, limit));
    return { items: items.filter(isNotTaken), next_page_token: tokenBehind(links, limit, binding) };
  }

  /** Yields all messages of a workspace that were not accepted completely, or are not finished, newest first. */
  async *rejected(workspace: string): AsyncGenerator<Message> {
    for await (const message of this.#alongLinks(rejectedPartition(workspace))) {
      if (isNotTaken(message)) yield message;
    }
  }

  /** Yields the messages of a workspace, newest first. */
  async *all(workspace: string): AsyncGenerator<Message> {
    for (let after: number | undefined; ; ) {
      const query = { partition: workspace, limit: PAGE, ...(after !== undefined && { after }) };
      const rows = await this.#stateStore.page(messagesTable, query);
      yield* rows.map(toMessage);
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.order;
    }
  }

  /** Yields the messages of a workspace that concern the record of a stream, newest first. */
  about(stream: string): AsyncIterable<Message> {
    return this.#alongLinks(stream);
  }

  async *#alongLinks(partition: string): AsyncGenerator<Message> {
    for await (const links of this.#linksIn(partition)) yield* await this.#linked(links);
  }

  async *#linksIn(partition: string): AsyncGenerator<LinkRow[]> {
    for (let after: number | undefined; ; ) {
      const query = { partition, limit: PAGE, ...(after !== undefined && { after }) };
      const links = await this.#stateStore.page(messageLinksTable, query);
      yield links;
      if (links.length < PAGE) return;
      after = links.at(-1)?.order;
    }
  }

  /**
   * Removes every message that concerns the record of a stream up to a version, with its bytes. Can be repeated: messages whose
   * result is a later version concern a record that uses the id again, and stay.
   */
  async eraseAbout(stream: string, upTo: number): Promise<void> {
    const isLater = ({ workspace, about }: Message) =>
      about.some((one) => streamOf(workspace, one) === stream && (one.version ?? 0) > upTo);
    for await (const links of this.#linksIn(stream)) {
      const kept = new Set((await this.#linked(links)).filter(isLater).map(({ id }) => id));
      for (const link of links) if (!kept.has(link.body.message)) await this.#remove(link);
    }
  }

  /** Removes what has expired by a moment, in milliseconds since 1970, and is not held, until the signal. */
  async removeExpired(
    now: number,
    isHeld: (message: Message) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    const due = this.#rowOrder.oldestFirst(now);
    for await (const links of this.#linksIn(EXPIRING)) {
      for (const link of links) {
        if (link.order >= due || signal.aborted) return;
        const [message] = await this.#linked([link]);
        if (message === undefined || !(await isHeld(message))) await this.#remove(link);
      }
    }
  }

  async #remove(link: LinkRow): Promise<void> {
    const { message: id } = link.body;
    await this.#documentStore.delete(id);
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    const partitions = row ? partitionsOf(row.body) : [];
    const links = [...new Set([...partitions, EXPIRING])].map((partition) => linkId(partition, id));
    // The row last, except for the link that led here: if interrupted, that link finds the rest again.
    await this.#stateStore.remove(
      messageLinksTable,
      links.filter((one) => one !== link.id),
      1,
    );
    if (row?.body.control) await removeClaim(this.#stateStore, row.body.control, id);
    if (row) await this.#stateStore.remove(messagesTable, [id], Number.MAX_SAFE_INTEGER);
    await this.#stateStore.remove(messageLinksTable, [link.id], 1);
  }

  async #link(
    { id, ordered_at, received_at }: Message,
    partitions: readonly string[],
    others: LinkRow[] = [],
  ): Promise<void> {
    const order = this.#rowOrder.newestFirst(Date.parse(orderTimeOf({ ordered_at, received_at })));
    const rows = [...others, ...partitions.map((partition) => linkRow(partition, id, order))];
    for (let at = 0; at < rows.length; at += PAGE) {
      await this.#stateStore.save(messageLinksTable, rows.slice(at, at + PAGE));
    }
  }

  async #linked(links: LinkRow[]): Promise<Message[]> {
    const ids = links.map(({ body }) => body.message);
    const rows = await this.#stateStore.load(messagesTable, ids);
    const byId = new Map(rows.map((row) => [row.id, toMessage(row)]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }
}

/** Returns the page token of a message list beginning with those before a moment, in milliseconds since 1970. */
export function messagesBefore(ms: number, { rejected = false } = {}): string {
  return encodeToken(RowOrder.newestBefore(ms), rejected ? REJECTED : undefined);
}

/** Returns the token of the page after these rows; null where there are no more. */
function tokenBehind(rows: readonly { order: number }[], limit: number, binding?: string): string | null {
  const last = rows[limit - 1];
  return rows.length > limit && last ? encodeToken(last.order, binding) : null;
}

/** A link to one that was accepted, or corrected, may be left. */
function isNotTaken({ state, corrected_by }: Message): boolean {
  return state !== 'accepted' && corrected_by === undefined;
}
