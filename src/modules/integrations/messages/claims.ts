import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import type { Clock } from '../../../storage/rateLimiters.ts';
import { RowOrder } from '../../../storage/readModels.ts';
import type { StateRow, StateStore, StateWrite } from '../../../storage/stateStore.ts';
import {
  IdempotencyRecord,
  isReserved,
  KeyedDigests,
  RESERVATION_MS,
} from '../../idempotency/reservations.ts';
import {
  type ClaimBody,
  controlPartition,
  type LinkRow,
  linkId,
  type Message,
  type MessageControl,
  messageClaimsTable,
  messageLinksTable,
  rejectedPartition,
} from './message.ts';
import type { MessageStore } from './store.ts';

/** The partition of all claims. They are never listed, so their order only lets new ones share a page of its index. */
const CLAIMS = 'claims';
/** Maximum number of messages with the same name that are looked at. */
const MOST_OTHERS = 50;

/** A message that is to be carried out. */
interface ClaimedMessage {
  workspace: string;
  /** The message's id. */
  id: string;
  control: MessageControl;
}

/** A message that only this process carries out. Should the process die, it is free again some seconds later. */
export class MessageLock {
  /** To be kept with the message: by it the claim is removed along with the message. */
  readonly control: MessageControl;
  readonly #messages: MessageStore;
  readonly #message: ClaimedMessage;
  readonly #held: IdempotencyRecord<ClaimBody>;
  readonly #links: Promise<LinkRow[]>;

  /** `links`: those to messages of the same name. */
  constructor(
    messages: MessageStore,
    message: ClaimedMessage,
    held: IdempotencyRecord<ClaimBody>,
    links: Promise<LinkRow[]>,
  ) {
    this.control = message.control;
    this.#messages = messages;
    this.#message = message;
    this.#held = held;
    this.#links = links;
  }

  /** Resolves with the last messages of the same name except this one, newest first. Rejects with `unavailable`. */
  async others(): Promise<Message[]> {
    const { id: own, workspace } = this.#message;
    const ids = (await this.#links).map(({ body }) => body.message).filter((id) => id !== own);
    const others = await Promise.all(ids.map((id) => this.#messages.load(workspace, id)));
    return others.filter((one) => one !== undefined);
  }

  /**
   * Returns the writes which note that messages with the same content that were not accepted no longer wait to be sent
   * again, as this one was.
   */
  settling(others: readonly Message[]): StateWrite[] {
    const partition = rejectedPartition(this.#message.workspace);
    const alike = others.filter(({ control }) => control?.claim === this.control.claim);
    const remove = alike.map(({ id }) => linkId(partition, id));
    return remove.length === 0 ? [] : [{ table: messageLinksTable, remove, upTo: 1 }];
  }

  /**
   * Ends the claim. Whether the message is accepted again depends on what was noted of it; where nothing could be
   * noted, the next one with the same content is carried out at once. Never rejects.
   */
  async end({ isNoted }: { isNoted: boolean }): Promise<void> {
    const release = () => this.#held.write((body) => ({ ...body, heldUntil: 0 }));
    await this.#held.end(isNoted ? undefined : release);
  }
}

const POLL_MS = 100;
/** By then a hold that nobody renews has expired. */
const WAIT_MS = RESERVATION_MS + 2_000;

interface ClaimPorts {
  stateStore: StateStore;
  clock: Clock;
  messages: MessageStore;
  /**
   * Resolves with the keys of the digests; the same in all instances of an installation. The first is in use, the
   * others are earlier ones.
   */
  secrets(): Promise<readonly Uint8Array[]>;
}

/** What identifies a message. */
export interface MessageIdentity {
  workspace: string;
  /** Id of the source that sent it. */
  source: string;
  /** The name its sender gives it, in the order of its parts. */
  control: readonly string[];
  bytes: readonly Buffer[];
}

/**
 * Which messages were taken: each once, across all instances, for as long as it is kept. What is kept for that
 * reveals nothing about a message to anyone without the service's secret, and is removed with it. Where the state
 * store is lost, a message is treated as new.
 */
export class MessageClaims {
  readonly #ports: ClaimPorts;
  readonly #digests = new WeakMap<Uint8Array, KeyedDigests>();
  readonly #rowOrder = new RowOrder();

  constructor(ports: ClaimPorts) {
    this.#ports = ports;
  }

  /**
   * Claims a message, and keeps it by its writes, or resolves with the one that was taken before, with the same content
   * under the same name. It waits while that one is under way. Rejects with `unavailable`, also where that takes too
   * long; with the signal's reason when it aborts.
   */
  async claim(
    message: ClaimedMessage,
    keeping: readonly StateWrite[],
    signal: AbortSignal,
  ): Promise<MessageLock | Message> {
    const { stateStore, clock, messages } = this.#ports;
    const { workspace, id, control } = message;
    const swap = async (row: StateRow<ClaimBody>, expected: number | undefined) => {
      const held = new IdempotencyRecord(this.#ports, messageClaimsTable, row);
      const query = { partition: controlPartition(control), limit: MOST_OTHERS };
      // In the same turn as the write, which does not wait for it.
      const links = stateStore.page(messageLinksTable, query);
      links.catch(() => undefined);
      const lock = new MessageLock(messages, message, held, links);
      try {
        const writes = [{ table: messageClaimsTable, swap: row, expected }, ...keeping];
        if (await stateStore.write(writes)) return lock;
        await held.end();
        return undefined;
      } catch (error) {
        await lock.end({ isNoted: false });
        throw error;
      }
    };
    const place = { id: control.claim, partition: CLAIMS, order: this.#rowOrder.oldestFirst(clock.now()) };
    const fresh = { ...place, revision: 1, body: { message: id, heldUntil: clock.now() + RESERVATION_MS } };
    const first = await swap(fresh, undefined);
    if (first) return first;
    const until = clock.elapsed() + WAIT_MS;
    do {
      const [found] = await stateStore.load(messageClaimsTable, [control.claim]);
      const earlier = found && (await messages.load(workspace, found.body.message));
      if (earlier?.state === 'accepted') return earlier;
      const isUnderWay =
        found && isReserved(found.body, clock.now()) && (earlier?.state ?? 'received') === 'received';
      if (!isUnderWay) {
        const body = { message: id, heldUntil: clock.now() + RESERVATION_MS };
        const row = found ? { ...found, revision: found.revision + 1, body } : { ...fresh, body };
        const taken = await swap(row, found?.revision);
        if (taken) return taken;
      }
      await setTimeout(POLL_MS, undefined, { signal });
    } while (clock.elapsed() < until);
    throw new ServiceError('unavailable', 'The same message is being processed. Send it again in a moment.', {
      retryAfterSeconds: 2,
    });
  }

  /**
   * Resolves with what a message is identified by: digests of an earlier key, where it was claimed with that. Rejects with
   * `unavailable`.
   */
  async controlOf(identity: MessageIdentity): Promise<MessageControl> {
    const secrets = await this.#ports.secrets();
    const [control, ...before] = secrets.map((secret) => controlOf(identity, this.#digestsOf(secret)));
    for (const earlier of before) {
      const [found] = await this.#ports.stateStore.load(messageClaimsTable, [earlier.claim]);
      if (found) return earlier;
    }
    return control as MessageControl;
  }

  #digestsOf(secret: Uint8Array): KeyedDigests {
    const known = this.#digests.get(secret);
    if (known) return known;
    const digests = new KeyedDigests(secret, 'messages');
    this.#digests.set(secret, digests);
    return digests;
  }
}

function controlOf(
  { workspace, source, control, bytes }: MessageIdentity,
  digests: KeyedDigests,
): MessageControl {
  const name = digests.of('control id', [workspace, source, ...control]).toString('base64url');
  const content = createHash('sha256');
  for (const part of bytes) content.update(part);
  const claim = digests.of('message', [name, content.digest('hex')]).toString('base64url');
  return { name, claim };
}
