import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { AboutRecord } from './aboutRecords.ts';
import { MessageClaim } from './messages/MessageClaim.ts';
import type { MessageClaims } from './messages/MessageClaims.ts';
import type { MessageStore, ProcessedMessage } from './messages/MessageStore.ts';
import type { Message, MessageBody, MessageControl } from './messages/message.ts';
import { DEFAULT_RETENTION_DAYS, type Source } from './source.ts';

/** A message as it arrived. */
export type RawMessage = Pick<MessageBody, 'format' | 'media_type' | 'request'> & {
  bytes: readonly Buffer[];
};

/** Keeps one message of a source while it is carried out. */
export class MessageKeeper {
  /** Who carries out what it says: events tell where they come from. */
  readonly caller: Caller;
  readonly #store: MessageStore;
  readonly #source: Source;
  readonly #raw: RawMessage;
  #control: MessageControl | undefined;
  #message: Message | undefined;

  constructor(store: MessageStore, caller: Caller, source: Source, raw: RawMessage) {
    this.caller = { ...caller, source: { id: source.id, message: uuidv7() } };
    this.#store = store;
    this.#source = source;
    this.#raw = raw;
  }

  /**
   * Claims it by the name its sender gives it, in the order of the name's parts, or resolves with the one that was
   * taken before with the same content. Rejects as `MessageClaims.take` does.
   */
  async claim(
    claims: MessageClaims,
    control: readonly string[],
    signal: AbortSignal,
  ): Promise<MessageClaim | Message> {
    const { caller } = this;
    const { bytes } = this.#raw;
    const identity = { workspace: caller.workspace, source: this.#source.id, control, bytes };
    const claimed = await claims.take(identity, caller.source?.message as string, signal);
    if (claimed instanceof MessageClaim) this.#control = claimed.control;
    return claimed;
  }

  /** Keeps it as it arrived: before anything is written to the records it concerns. Rejects with `unavailable`. */
  async keep(about: AboutRecord[]): Promise<void> {
    const { id, retention_days: retentionDays = DEFAULT_RETENTION_DAYS } = this.#source;
    const own = { id: this.caller.source?.message as string, source: id, retentionDays };
    const named = this.#control && { control: this.#control };
    this.#message = await this.#store.receive(this.caller, { ...this.#raw, ...own, ...named, about });
  }

  /** Notes its result, where it is kept. Rejects with `unavailable`. */
  async processed(became: ProcessedMessage): Promise<void> {
    if (this.#message) await this.#store.processed(this.#message, became);
  }
}
