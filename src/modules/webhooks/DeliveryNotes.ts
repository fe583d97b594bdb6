import type { Clock } from '../../storage/clock.ts';
import type { DeliveryState } from './DeliveryState.ts';
import type { DeliveryNote } from './deliveryNote.ts';
import type { Webhook } from './webhook.ts';

export interface NotePorts {
  clock: Clock;
  /** Notes in the log how far a delivery has got; resolves with the note's revision. */
  note(webhook: Webhook, note: DeliveryNote): Promise<number>;
  /** Minimum interval between notes, for each webhook. */
  noteEveryMs: number;
}

/**
 * Notes in the log how far a delivery has got, when it has advanced and enough time has passed since the last note.
 */
export class DeliveryNotes {
  readonly #ports: NotePorts;
  readonly #state: Pick<DeliveryState, 'at' | 'settled'>;
  #notedAt: number;
  #notedHandled: number;
  #hasDelivered = false;

  constructor(ports: NotePorts, state: Pick<DeliveryState, 'at' | 'settled'>) {
    this.#ports = ports;
    this.#state = state;
    this.#notedAt = ports.clock.elapsed();
    this.#notedHandled = state.at.handled;
  }

  /** To be called when a message was delivered. */
  delivered(): void {
    this.#hasDelivered = true;
  }

  /** Appends a note when one is due. Rejects with `unavailable`; it is then due again after a while. */
  async appendDue(webhook: Webhook): Promise<void> {
    const { clock, note, noteEveryMs } = this.#ports;
    const { at, settled: position } = this.#state;
    const { handled } = at;
    const isNew = this.#hasDelivered || handled !== this.#notedHandled;
    if (!isNew || clock.elapsed() - this.#notedAt < noteEveryMs) return;
    this.#notedAt = clock.elapsed();
    this.#hasDelivered = false;
    try {
      at.noted = await note(webhook, { position, handled });
      this.#notedHandled = handled;
    } catch (error) {
      this.#hasDelivered = true;
      throw error;
    }
  }
}
