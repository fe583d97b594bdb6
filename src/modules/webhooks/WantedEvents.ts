import { once } from 'node:events';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcast.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { whenAvailable } from '../../platform/whenAvailable.ts';
import type { ToldChange } from '../eventStream/ChangedFields.ts';
import { feedLogTypes, selectedAs } from '../eventStream/cloudEvent.ts';
import { logFilter } from '../eventStream/selection.ts';
import type { SessionPorts } from './sessionPorts.ts';
import type { Webhook } from './webhook.ts';
import type { ToldOfChange } from './webhookMessage.ts';

/** Whether anything is to be sent for an event that did this. */
export type Wants = (event: RecordedEvent, change: ToldOfChange) => boolean;

/** The events that a webhook wants, from a place in the log onwards. */
export class WantedEvents {
  readonly #ports: SessionPorts;
  readonly #webhook: Pick<Webhook, 'id' | 'workspace'>;
  readonly #eventTypes: ReadonlySet<string>;
  readonly #wants: Wants;
  #followed: Position;

  constructor(
    ports: SessionPorts,
    webhook: Pick<Webhook, 'id' | 'workspace'>,
    eventTypes: ReadonlySet<string>,
    wants: Wants,
    after: Position,
  ) {
    this.#ports = ports;
    this.#webhook = webhook;
    this.#eventTypes = eventTypes;
    this.#wants = wants;
    this.#followed = after;
  }

  /** The place up to which events were read. */
  get followed(): Position {
    return this.#followed;
  }

  /** Signals that this event was taken, before `take` has finished with it. */
  passed({ position }: RecordedEvent): void {
    this.#followed = position;
  }

  /** Passes each event, with what it did, to `take`, until the signal. */
  async run(
    signal: AbortSignal,
    take: (event: RecordedEvent, change: ToldOfChange) => Promise<void>,
  ): Promise<void> {
    const { eventLog, changedFields, onUnreadable, onDelay } = this.#ports;
    const { id, workspace } = this.#webhook;
    const filter = logFilter({ workspace, eventTypes: [...this.#eventTypes] });
    for await (const batch of eventLog.follow({ after: this.#followed, filter, signal })) {
      for (const event of batch.unreadable ?? []) onUnreadable(id, event);
      const events = batch.events.filter(({ type }) => feedLogTypes.has(type));
      const changes = await whenAvailable(
        () => changedFields.changes(events),
        (error) => onDelay(id, error),
        signal,
      );
      if (changes === undefined) return;
      for (const [index, event] of events.entries()) {
        const told = changes[index] as ToldChange;
        if (this.#eventTypes.has(selectedAs(event))) {
          if (told instanceof UnknownSchemaVersion) return this.#waitForUpgrade(told, signal);
          if (told instanceof UnreadableError) onUnreadable(id, event);
          // What was sent is in the event: it is not held twice.
          else if (this.#wants(event, told))
            await take(event, { changed: told.changed, isFirst: told.isFirst });
        }
        if (signal.aborted) return;
        this.#followed = event.position;
      }
      this.#followed = batch.position;
    }
  }

  /**
   * What was read earlier is delivered, and what is waiting is tried again; but nothing is skipped. An instance of a
   * newer version continues from here when it gets the lease.
   */
  async #waitForUpgrade(error: UnknownSchemaVersion, signal: AbortSignal): Promise<void> {
    this.#ports.onDelay(this.#webhook.id, error);
    if (!signal.aborted) await once(signal, 'abort');
  }
}
