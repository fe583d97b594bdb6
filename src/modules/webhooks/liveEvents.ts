import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcasting.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { retryWhileUnavailable } from '../../platform/retry.ts';
import type { EventBatch, EventFilter, EventLog } from '../../storage/eventLog.ts';
import type { ChangedFields, ChangeOrError } from '../eventStream/changedFields.ts';
import { feedLogTypes, logFilter, selectedAs } from '../eventStream/cloudEvents.ts';
import { type ReportedChange, reported } from './messages.ts';
import type { Webhook } from './webhook.ts';

/** A webhook that follows the end of the log. */
export interface Subscriber {
  readonly webhook: Pick<Webhook, 'id' | 'workspace'>;
  /** Types of the events that it wants, as the log has them. */
  readonly eventTypes: ReadonlySet<string>;
  /** The place in the log up to which it has all that it wants. */
  readonly position: Position;
  /**
   * Offers it the next event of these types; following from `before` yields it. Returns false if it has no room, and is then no
   * longer a subscriber.
   */
  offer(event: RecordedEvent, change: ReportedChange, before: Position): boolean;
  /** It is no longer a subscriber: only the log has what follows its position. */
  leftBehind(): void;
}

export interface LiveEventsPorts {
  eventLog: Pick<EventLog, 'follow'>;
  changedFields: Pick<ChangedFields, 'changes'>;
  /** Called with an error that delays all of them. */
  onDelay(webhookId: string, error: unknown): void;
  /** Called with an event that is never delivered, because the log can no longer read it. */
  onUnreadable(webhookId: string, event: Pick<RecordedEvent, 'id' | 'position'>): void;
}

/** Beyond this number of prefixes, comparing a name with each of them costs more than reading an event that nobody wants. */
const MAX_PREFIXES = 20;

/**
 * The growing end of the log, for all webhooks that have caught up: it is read once, whatever their number, and each event is
 * offered to those that want it. Nothing is read while there are none.
 */
export class LiveEvents {
  readonly #ports: LiveEventsPorts;
  /** By workspace. */
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  #position: Position | undefined;
  /** What is read now; undefined: all types, of all workspaces. */
  #prefixes: string[] | undefined = [];
  /** Aborts when something else is to be read. */
  #reread = new AbortController();

  constructor(ports: LiveEventsPorts) {
    this.#ports = ports;
  }

  /** Everything up to here was offered; undefined while there are no subscribers. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** Offers a webhook what it wants after its position, which may be an earlier one than that of the others. */
  add(subscriber: Subscriber): void {
    const { workspace } = subscriber.webhook;
    const others = this.#subscribers.get(workspace);
    if (others) others.add(subscriber);
    else this.#subscribers.set(workspace, new Set([subscriber]));
    const isCovered = this.#prefixes === undefined || prefixesOf(subscriber).every(isIn(this.#prefixes));
    if (this.#position !== undefined && subscriber.position >= this.#position && isCovered) return;
    this.#position = Math.min(this.#position ?? Number.POSITIVE_INFINITY, subscriber.position);
    this.#reread.abort();
  }

  delete(subscriber: Subscriber): void {
    const { workspace } = subscriber.webhook;
    const others = this.#subscribers.get(workspace);
    if (!others?.delete(subscriber) || others.size > 0) return;
    this.#subscribers.delete(workspace);
    if (this.#subscribers.size > 0) return;
    this.#position = undefined;
    this.#reread.abort();
  }

  /** Reads until the signal. Rejects as `EventLog.follow` does. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#reread = new AbortController();
      const stop = AbortSignal.any([signal, this.#reread.signal]);
      const after = this.#position;
      if (after === undefined) await aborted(stop);
      else await this.#read(after, stop);
    }
  }

  async #read(after: Position, signal: AbortSignal): Promise<void> {
    this.#prefixes = this.#wantedPrefixes();
    const filter: EventFilter = this.#prefixes
      ? { streamPrefixes: this.#prefixes }
      : { eventTypes: [...feedLogTypes] };
    for await (const batch of this.#ports.eventLog.follow({ after, filter, signal })) {
      await this.#offer(batch, signal);
      if (signal.aborted) return;
    }
  }

  async #offer({ events: read, unreadable = [], position }: EventBatch, signal: AbortSignal): Promise<void> {
    const { changedFields, onDelay } = this.#ports;
    const events = read.filter(
      ({ type, metadata }) => feedLogTypes.has(type) && this.#subscribers.has(metadata.workspace),
    );
    const changes = await retryWhileUnavailable(
      () => changedFields.changes(events),
      signal,
      (error) => onDelay('', error),
    );
    // What is offered from here on does not wait for anything: the subscribers see all of a batch, or none.
    if (changes === undefined || signal.aborted) return;
    for (const event of unreadable) this.#skip(event);
    for (const [index, event] of events.entries()) this.#offerOne(event, changes[index] as ChangeOrError);
    if (this.#position !== undefined) this.#position = position;
  }

  #offerOne(event: RecordedEvent, change: ChangeOrError): void {
    const type = selectedAs(event);
    for (const subscriber of this.#subscribers.get(event.metadata.workspace) ?? []) {
      if (event.position <= subscriber.position || !subscriber.eventTypes.has(type)) continue;
      if (change instanceof UnreadableError && !(change instanceof UnknownSchemaVersion)) {
        this.#ports.onUnreadable(subscriber.webhook.id, event);
        continue;
      }
      // An event that only a newer version of the service can read must not be skipped.
      const isTaken =
        !(change instanceof UnreadableError) &&
        subscriber.offer(event, reported(change), this.#position as Position);
      if (isTaken) continue;
      this.delete(subscriber);
      subscriber.leftBehind();
    }
    if (this.#position !== undefined) this.#position = event.position;
  }

  #skip(event: { id: string; stream: string; position: Position }): void {
    const workspace = event.stream.slice(0, event.stream.indexOf('.'));
    for (const { webhook, position } of this.#subscribers.get(workspace) ?? [])
      if (event.position > position) this.#ports.onUnreadable(webhook.id, event);
  }

  #wantedPrefixes(): string[] | undefined {
    const prefixes = new Set<string>();
    for (const subscribers of this.#subscribers.values()) {
      for (const subscriber of subscribers) for (const prefix of prefixesOf(subscriber)) prefixes.add(prefix);
      if (prefixes.size > MAX_PREFIXES) return undefined;
    }
    return [...prefixes];
  }
}

/** Returns what the names of the streams begin with that hold what a webhook wants. */
function prefixesOf({ webhook: { workspace }, eventTypes }: Subscriber): string[] {
  const filter = logFilter({ workspace, eventTypes: [...eventTypes] });
  return 'streamPrefixes' in filter ? filter.streamPrefixes : [];
}

const isIn = (prefixes: readonly string[]) => (name: string) =>
  prefixes.some((prefix) => name.startsWith(prefix));

/** Resolves at the signal. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
