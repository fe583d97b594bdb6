import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { notFound, unavailable } from '../../../platform/errors.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import { RowOrder } from '../../../storage/readModels.ts';
import type { StateRow, StateStore, StateWrite } from '../../../storage/stateStore.ts';
import {
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type TokenScope,
} from '../../records/queries/paging.ts';
import {
  controlIdPartition,
  EXPIRING,
  type IncomingMessage,
  isWaiting,
  type LinkRow,
  linkId,
  linkRow,
  MAX_ABOUT,
  type Message,
  type MessageBody,
  type MessageControl,
  messageClaimsTable,
  messageLinksTable,
  messagesTable,
  orderTimeOf,
  partitionsOf,
  rejectedPartition,
  type StoredMessageBody,
  streamOf,
  streamsOf,
  toMessage,
} from './message.ts';

const PAGE = 200;

/**
 * The links that lead to messages, by partition: that of the record they concern, that of the list they are on. A
 * message without links could never be found. Methods reject with `unavailable`.
 */
class MessageLinks {
  readonly #stateStore: StateStore;
  readonly #rowOrder = new RowOrder();

  constructor(stateStore: StateStore) {
    this.#stateStore = stateStore;
  }

  /**
   * Returns the writes that lead to a message from each of the partitions: the newest first, but from `EXPIRING` the next to
   * expire.
   */
  adding({ id, ordered_at, received_at, expires_at }: Message, partitions: readonly string[]): StateWrite[] {
    const order = this.#rowOrder.newestFirst(Date.parse(orderTimeOf({ ordered_at, received_at })));
    const expiring = this.#rowOrder.oldestFirst(Date.parse(expires_at));
    const rows = partitions.map((one) => linkRow(one, id, one === EXPIRING ? expiring : order));
    const pages = Array.from({ length: Math.ceil(rows.length / PAGE) }, (_, page) => page * PAGE);
    return pages.map((at) => ({ table: messageLinksTable, save: rows.slice(at, at + PAGE) }));
  }

  /** Whether a message is still to expire: removing it begins with that. */
  async isExpiring(id: string): Promise<boolean> {
    return (await this.#stateStore.load(messageLinksTable, [linkId(EXPIRING, id)])).length > 0;
  }

  /** Removes the links to a message from these partitions. */
  async remove(id: string, partitions: readonly string[]): Promise<void> {
    await this.#stateStore.write([removingLinks(id, partitions)]);
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

/** Returns the write that removes the links to a message from these partitions. */
function removingLinks(id: string, partitions: readonly string[]): StateWrite {
  const remove = partitions.map((partition) => linkId(partition, id));
  return { table: messageLinksTable, remove, upTo: 1 };
}

/**
 * Removes the claim of a message, unless another one with the same content has it by now. Rejects with `unavailable`.
 */
async function removeClaim(
  stateStore: StateStore,
  { claim: id }: MessageControl,
  message: string,
): Promise<void> {
  const [claim] = await stateStore.load(messageClaimsTable, [id]);
  if (claim?.body.message !== message) return;
  await stateStore.remove(messageClaimsTable, [id], claim.revision);
}

const DAY_MS = 86_400_000;
/** Messages of up to this size are kept in their rows: files of their own would cost several syncs each. */
const MAX_CONTENT_BYTES = 16 * 1024;

/** A message that is to be kept, and the writes that do so. */
interface PreparedMessage {
  message: Message;
  writes: StateWrite[];
  /** All that lead to it, except for `EXPIRING`. */
  partitions: string[];
  /** Its bytes are in the document store. */
  isFile: boolean;
}

export interface MessagePorts {
  stateStore: StateStore;
  documentStore: DocumentStore;
}

/** The result of processing a message. */
export interface ProcessedMessage
  extends Pick<MessageBody, 'state' | 'about' | 'problems' | 'configuration'> {
  /** Whether it says something of a record that was erased, and may not return: the message is then not kept. */
  isOfErased?: boolean;
}

/**
 * Messages of EMRs as they arrived, for as long as they are kept, and the result of each. They are the source of what
 * the log says, but not part of it: events name the message that they come from. Methods reject with `unavailable`.
 */
export class MessageStore {
  readonly #stateStore: StateStore;
  readonly #documentStore: DocumentStore;
  readonly #links: MessageLinks;
  readonly #rowOrder = new RowOrder();
  /** The rows of messages that were received here, until their result is noted. */
  readonly #received = new WeakMap<Message, StateRow<StoredMessageBody>>();

  constructor({ stateStore, documentStore }: MessagePorts) {
    this.#stateStore = stateStore;
    this.#documentStore = documentStore;
    this.#links = new MessageLinks(stateStore);
  }

  /**
   * Keeps a message, durably, before anything that it says is written: from then on erasing a record finds it. Rejects
   * with `unavailable` and keeps nothing, too, where a record that it concerns is erased meanwhile.
   */
  async receive(caller: Caller, incoming: IncomingMessage): Promise<Message> {
    const prepared = await this.prepare(caller, incoming);
    await this.#stateStore.write(prepared.writes);
    await this.confirm(prepared);
    return prepared.message;
  }

  /** Resolves with a message that is kept by its writes, then confirmed; otherwise discarded. */
  async prepare(
    caller: Caller,
    { id, bytes, retentionDays, about, ...described }: IncomingMessage,
  ): Promise<PreparedMessage> {
    const length = bytes.reduce((sum, part) => sum + part.length, 0);
    const isFile = length > MAX_CONTENT_BYTES;
    const content = isFile ? undefined : Buffer.concat(bytes);
    const { size, sha256 } = content
      ? { size: length, sha256: hash('sha256', content) }
      : await this.#documentStore.put(id, Readable.from(bytes));
    const now = Date.now();
    const message: Message = {
      ...{ ...described, id, size, sha256, workspace: caller.workspace, state: 'received', problems: [] },
      ...{ records: about.length, about: about.slice(0, MAX_ABOUT) },
      received_at: new Date(now).toISOString(),
      expires_at: new Date(now + retentionDays * DAY_MS).toISOString(),
      ...{ sent_by: caller.principal, request_id: caller.requestId },
    };
    const { id: _, ...body } = message;
    const partitions = partitionsOf({ ...message, about });
    const row: StateRow<StoredMessageBody> = {
      ...{ id, partition: caller.workspace, order: this.#rowOrder.newestFirst(now), revision: 1 },
      body: { ...body, ...(content && { content: content.toString('base64') }) },
    };
    this.#received.set(message, row);
    // Links first: a row without them could never be found.
    const writes = [
      ...this.#links.adding(message, [EXPIRING, ...partitions]),
      { table: messagesTable, save: [row] },
    ];
    return { message, writes, partitions, isFile };
  }

  /**
   * Ends the keeping of a message whose writes are done. Rejects with `unavailable`, and removes it, where a record that it
   * concerns has been erased since.
   */
  async confirm({ message, partitions, isFile }: PreparedMessage): Promise<void> {
    const { id } = message;
    if (isFile) await this.#documentStore.confirm(id);
    // An erasure of a record that it concerns found all of it or nothing.
    else if (this.#stateStore.isTransactional) return;
    if (await this.#links.isExpiring(id)) return;
    await this.#links.remove(id, partitions);
    await this.withdraw(message);
    throw unavailable('state store');
  }

  /** Removes what is there of a message whose writes were not done. Rejects with `unavailable`. */
  async discard({ message, isFile }: PreparedMessage): Promise<void> {
    if (isFile) await this.#documentStore.discard(message.id);
  }

  /**
   * Notes the result of a message, and of the records it concerns, if it still exists; once it is accepted, with `further`
   * writes. It then stays so: of two who send it again at once, the later one is refused what is there by then. Removes one about a record that
   * was erased, and may not return. It may resolve before the result is durable, when later calls see it (decision 158).
   */
  async processed(
    message: Message,
    { isOfErased, ...processed }: ProcessedMessage,
    further: readonly StateWrite[] = [],
  ): Promise<void> {
    if (isOfErased) {
      await this.withdraw(message);
      return;
    }
    const { id, workspace } = message;
    const outcomes = new Map(processed.about.map((one) => [JSON.stringify([one.kind, one.id]), one]));
    const isAccepted = processed.state === 'accepted';
    const after = isAccepted ? [removingLinks(id, [rejectedPartition(workspace)]), ...further] : [];
    const change = (body: StoredMessageBody) => {
      if (body.state === 'accepted') return undefined;
      const about = body.about.map((one) => outcomes.get(JSON.stringify([one.kind, one.id])) ?? one);
      return { ...body, ...processed, about };
    };
    const row = this.#received.get(message);
    const noting = this.#change(id, change, { row, after });
    if (row === undefined || !this.#stateStore.isOrdered) await noting;
    // Its records are durable: a crash, or a store that fails now, leaves it among those that wait.
    else noting.catch(() => undefined);
  }

  /**
   * Notes that a message concerns further records, before they are written. Rejects with `not_found` where it no
   * longer exists.
   */
  async relate(
    { id, workspace }: Pick<Message, 'id' | 'workspace'>,
    about: MessageBody['about'],
  ): Promise<void> {
    const message = await this.load(workspace, id);
    if (message === undefined) throw notFound('Message');
    const addedTo = (body: MessageBody) => {
      const known = new Set(streamsOf(workspace, body.about));
      return about.filter((one) => !known.has(streamOf(workspace, one)));
    };
    const added = addedTo(message);
    if (added.length === 0) return;
    const partitions = streamsOf(workspace, added);
    await this.#stateStore.write(this.#links.adding(message, partitions));
    const isThere = await this.#change(id, (body) => {
      const all = [...body.about, ...addedTo(body)];
      return { ...body, records: Math.max(body.records, all.length), about: all.slice(0, MAX_ABOUT) };
    });
    if (isThere) return;
    await this.#links.remove(id, partitions);
    throw notFound('Message');
  }

  /** Notes that what was written from a message now matches a configuration of its source, if it still exists. */
  async readBy({ id }: Pick<Message, 'id'>, configuration: number): Promise<void> {
    await this.#change(id, (body) =>
      body.configuration === configuration ? undefined : { ...body, configuration },
    );
  }

  /**
   * Notes which message corrects one, which then no longer waits; resolves with false where another already does, or
   * it was accepted or is gone.
   */
  async correctedBy(
    { id, workspace }: Pick<Message, 'id' | 'workspace'>,
    correction: string,
  ): Promise<boolean> {
    const isCorrected = await this.#change(id, (body) =>
      body.corrected_by !== undefined || body.state === 'accepted'
        ? undefined
        : { ...body, corrected_by: correction },
    );
    if (isCorrected) await this.#links.remove(id, [rejectedPartition(workspace)]);
    return isCorrected;
  }

  /**
   * Notes that a message is left as it is, and why; it then no longer waits. Resolves with false where it does not wait, or no longer
   * exists.
   */
  async putAside(
    { id, workspace }: Pick<Message, 'id' | 'workspace'>,
    put_aside: NonNullable<MessageBody['put_aside']>,
  ): Promise<boolean> {
    const isPut = await this.#change(id, (body) => (isWaiting(body) ? { ...body, put_aside } : undefined));
    if (isPut) await this.#links.remove(id, [rejectedPartition(workspace)]);
    return isPut;
  }

  /** Removes a message, and not what was written from it. */
  async withdraw({ id }: Pick<Message, 'id'>): Promise<void> {
    await this.#remove(linkRow(EXPIRING, id, 0));
  }

  /** Resolves with a message of a workspace; undefined where it does not exist, or no longer does. */
  async load(workspace: string, id: string): Promise<Message | undefined> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    return row?.body.workspace === workspace ? toMessage(row) : undefined;
  }

  /** Whether the document store's object with an id belongs to a message. */
  async has(id: string): Promise<boolean> {
    return (await this.#stateStore.load(messagesTable, [id])).length > 0;
  }

  /** Resolves with the bytes of a message, as they arrived. */
  async bytes({ id }: Message): Promise<Readable> {
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    const content = row?.body.content;
    return content === undefined
      ? this.#documentStore.get(id)
      : Readable.from([Buffer.from(content, 'base64')]);
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
    const scope = listScope(workspace, rejected);
    const after = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
    const query = { limit: limit + 1, ...(after !== undefined && { after }) };
    if (!rejected) {
      const rows = await this.#stateStore.page(messagesTable, { ...query, partition: workspace });
      return { items: rows.slice(0, limit).map(toMessage), next_page_token: tokenBehind(rows, limit, scope) };
    }
    const partition = rejectedPartition(workspace);
    const links = await this.#links.page(partition, query);
    const items = await this.#links.messagesOf(links.slice(0, limit));
    return { items: items.filter(isWaiting), next_page_token: tokenBehind(links, limit, scope) };
  }

  /** Resolves with the newest messages of a workspace with a control id (MSH-10). */
  async withControlId(workspace: string, controlId: string, limit: number): Promise<Message[]> {
    return this.#links.messagesOf(
      await this.#links.page(controlIdPartition(workspace, controlId), { limit }),
    );
  }

  /** Yields all messages of a workspace that were not accepted completely, or are not finished, newest first. */
  async *rejected(workspace: string): AsyncGenerator<Message> {
    for await (const message of this.#links.messagesIn(rejectedPartition(workspace))) {
      if (isWaiting(message)) yield message;
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
    return this.#links.messagesIn(stream);
  }

  /**
   * Removes every message that concerns the record of a stream up to a version, with its bytes. Can be repeated: messages whose
   * result is a later version concern a record that uses the id again, and stay.
   */
  async eraseAbout(stream: string, upTo: number): Promise<void> {
    const isLater = ({ workspace, about }: Message) =>
      about.some((one) => streamOf(workspace, one) === stream && (one.version ?? 0) > upTo);
    for await (const links of this.#links.in(stream)) {
      const kept = new Set((await this.#links.messagesOf(links)).filter(isLater).map(({ id }) => id));
      for (const link of links) if (!kept.has(link.body.message)) await this.#remove(link);
    }
  }

  /** Removes what has expired by a moment, in milliseconds since 1970, and is not held, until the signal. */
  async removeExpired(
    now: number,
    isHeld: (message: Message) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const link of this.#links.expiredBy(now)) {
      if (signal.aborted) return;
      const [message] = await this.#links.messagesOf([link]);
      if (message === undefined || !(await isHeld(message))) await this.#remove(link);
    }
  }

  /**
   * Changes a message as it is now, despite concurrent changes; with it, `after` is written. Resolves with false
   * where nothing is to be changed, or it no longer exists. `row`: as it is now, unless somebody else changed it.
   */
  async #change(
    id: string,
    changed: (body: StoredMessageBody) => StoredMessageBody | undefined,
    { row: seen, after = [] }: { row?: StateRow<StoredMessageBody> | undefined; after?: StateWrite[] } = {},
  ): Promise<boolean> {
    for (let known = seen; ; known = undefined) {
      const row = known ?? (await this.#stateStore.load(messagesTable, [id]))[0];
      if (row === undefined) return false;
      const body = changed(row.body);
      if (body === undefined) return false;
      const next = { ...row, body, revision: row.revision + 1 };
      const writes = [{ table: messagesTable, swap: next, expected: row.revision }, ...after];
      if (await this.#stateStore.write(writes, { mayWait: seen !== undefined })) return true;
    }
  }

  async #remove({ partition, body: { message: id } }: LinkRow): Promise<void> {
    await this.#documentStore.delete(id);
    // Before its row is looked for: whoever keeps a message looks for this link once the row is there.
    if (partition !== EXPIRING) await this.#links.remove(id, [EXPIRING]);
    const [row] = await this.#stateStore.load(messagesTable, [id]);
    const partitions = row ? partitionsOf(row.body) : [];
    // The row last, except for the link that led here: if interrupted, that link finds the rest again.
    await this.#links.remove(
      id,
      partitions.filter((one) => one !== partition),
    );
    if (row?.body.control) await removeClaim(this.#stateStore, row.body.control, id);
    if (row) await this.#stateStore.remove(messagesTable, [id], Number.MAX_SAFE_INTEGER);
    await this.#links.remove(id, [partition]);
  }
}

/** Returns the page token of a message list beginning with those before a moment, in milliseconds since 1970. */
export function messagesBefore(workspace: string, ms: number, { rejected = false } = {}): string {
  return encodeToken(RowOrder.newestBefore(ms), listScope(workspace, rejected));
}

function listScope(workspace: string, rejected: boolean): TokenScope {
  return ['messages', workspace, rejected];
}

/** Returns the token of the page after these rows; null where there are no more. */
function tokenBehind(rows: readonly { order: number }[], limit: number, scope: TokenScope): string | null {
  const last = rows[limit - 1];
  return rows.length > limit && last ? encodeToken(last.order, scope) : null;
}
