import type { StateStore } from '../../../storage/stateStore.ts';
import type { HeldRow } from '../../idempotency/HeldRow.ts';
import type { MessageStore } from './MessageStore.ts';
import { type ClaimBody, type Message, type MessageControl, messageLinksTable } from './message.ts';
import { controlPartition, linkId, rejectedPartition } from './messageRows.ts';

/** Maximum number of messages with the same name that are looked at. */
const MOST_OTHERS = 50;

interface ClaimedMessage {
  workspace: string;
  /** The message's id. */
  id: string;
  control: MessageControl;
}

/** A message that only this process carries out. Should the process die, it is free again some seconds later. */
export class MessageClaim {
  /** To be kept with the message: by it the claim is removed along with the message. */
  readonly control: MessageControl;
  readonly #ports: { stateStore: StateStore; messages: MessageStore };
  readonly #message: ClaimedMessage;
  readonly #held: HeldRow<ClaimBody>;

  constructor(
    ports: { stateStore: StateStore; messages: MessageStore },
    message: ClaimedMessage,
    held: HeldRow<ClaimBody>,
  ) {
    this.control = message.control;
    this.#ports = ports;
    this.#message = message;
    this.#held = held;
  }

  /** Resolves with the last messages of the same name except this one, newest first. Rejects with `unavailable`. */
  async others(): Promise<Message[]> {
    const { stateStore, messages } = this.#ports;
    const query = { partition: controlPartition(this.control), limit: MOST_OTHERS };
    const links = await stateStore.page(messageLinksTable, query);
    const ids = links.map(({ body }) => body.message).filter((id) => id !== this.#message.id);
    const others = await Promise.all(ids.map((id) => messages.load(this.#message.workspace, id)));
    return others.filter((one) => one !== undefined);
  }

  /**
   * Notes that messages with the same content that were not accepted no longer wait to be sent again, as this one
   * was. Rejects with `unavailable`.
   */
  async settle(others: readonly Message[]): Promise<void> {
    const partition = rejectedPartition(this.#message.workspace);
    const alike = others.filter(({ control }) => control?.claim === this.control.claim);
    const links = alike.map(({ id }) => linkId(partition, id));
    if (links.length > 0) await this.#ports.stateStore.remove(messageLinksTable, links, 1);
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
