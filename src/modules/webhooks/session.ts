import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { termsOf } from '../../domain/events/payloads.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcasting.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { isUnavailable, retryWhileUnavailable } from '../../platform/retry.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import { SentEvents } from '../audit/accessIndex.ts';
import { type ChangeOrError, isUnchanged } from '../eventStream/changedFields.ts';
import { feedLogTypes, logFilter, selectedAs } from '../eventStream/cloudEvents.ts';
import { type ReportedChange, reported } from './messages.ts';
import {
  type DeliveryPredicate,
  MessageDelivery,
  type Notification,
  type Outcome,
  Retries,
  type SessionPorts,
  tryAgain,
} from './retries.ts';
import { DeliveryNotes, type DeliveryState } from './sessionState.ts';
import { filterTypes, type Webhook, type WebhookRequest } from './webhook.ts';

/** How long nothing is sent to an endpoint, on the monotonic clock. */
class EndpointBackoff {
  readonly #clock: Clock;
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether nothing is to be sent now. */
  get holds(): boolean {
    return this.#clock.elapsed() < this.#until;
  }

  /** Until when, on the monotonic clock. */
  get until(): number {
    return this.#until;
  }

  /** Holds for this long from now on, or longer where it already was to. */
  extend(ms: number): void {
    this.#until = Math.max(this.#until, this.#clock.elapsed() + ms);
  }

  /** Holds for good; returns false when it already did. */
  forEver(): boolean {
    const isNew = this.#until !== Number.POSITIVE_INFINITY;
    this.#until = Number.POSITIVE_INFINITY;
    return isNew;
  }

  /** Ends the pause, unless it holds for good. */
  lift(): void {
    if (this.#until !== Number.POSITIVE_INFINITY) this.#until = Number.NEGATIVE_INFINITY;
  }
}

/** A message that was read from the log and is still to be delivered. */
interface Pending {
  event: RecordedEvent;
  /** What the event did. */
  change: ReportedChange;
  /** The place in the log before the event: following from here yields it. */
  before: Position;
}

/**
 * The messages in memory that are not delivered yet, in the order of the log: those of one record are handed out one
 * after the other, those of different records in parallel.
 */
class RecordWindow {
  /** By stream; the first of each is on its way, or the next to be handed out. */
  readonly #records = new Map<string, Pending[]>();
  /** Streams whose first message is to be handed out. */
  readonly #ready = new Set<string>();
  /** All messages by their place, in the order of the log. */
  readonly #unfinished = new Map<Position, Pending>();

  /** How many messages are in memory. */
  get size(): number {
    return this.#unfinished.size;
  }

  /** The place before the oldest message; undefined when there is none. */
  get floor(): Position | undefined {
    const [oldest] = this.#unfinished.values();
    return oldest?.before;
  }

  /** When the event of the oldest message was recorded, milliseconds since 1970; undefined when there is none. */
  get oldestAt(): number | undefined {
    const [oldest] = this.#unfinished.values();
    return oldest && Date.parse(oldest.event.recordedAt);
  }

  add(pending: Pending): void {
    const { stream, position } = pending.event;
    this.#unfinished.set(position, pending);
    const record = this.#records.get(stream);
    if (record) {
      record.push(pending);
    } else {
      this.#records.set(stream, [pending]);
      this.#ready.add(stream);
    }
  }

  /**
   * Returns the next message to send; none when the others wait for one of their record. `finish` or `block`
   * completes it.
   */
  next(): Pending | undefined {
    const [stream] = this.#ready;
    if (stream === undefined) return undefined;
    this.#ready.delete(stream);
    return this.#records.get(stream)?.[0];
  }

  /** Completes a message; the next one of its record may be sent. */
  finish({ event: { stream, position } }: Pending): void {
    this.#unfinished.delete(position);
    const record = this.#records.get(stream);
    record?.shift();
    if (record?.length) this.#ready.add(stream);
    else this.#records.delete(stream);
  }

  /** Forgets the message and all that follow it in its record; returns the revision of the last one. */
  block({ event: { stream, revision } }: Pending): number {
    const record = this.#records.get(stream) ?? [];
    for (const { event } of record) this.#unfinished.delete(event.position);
    this.#records.delete(stream);
    return record.at(-1)?.event.revision ?? revision;
  }
}

interface SendingEvents {
  /** Called when something under way failed. */
  failed(error: unknown): void;
  /** Called when something is no longer under way. */
  settled(): void;
}

/** What is being sent to an endpoint. */
class Sending {
  readonly #events: SendingEvents;
  readonly #tasks = new Set<Promise<void>>();

  constructor(events: SendingEvents) {
    this.#events = events;
  }

  /** How much is under way. */
  get size(): number {
    return this.#tasks.size;
  }

  start(work: () => Promise<void>): void {
    const task = work()
      .catch((error) => this.#events.failed(error))
      .finally(() => {
        this.#tasks.delete(task);
        this.#events.settled();
      });
    this.#tasks.add(task);
  }

  /** Resolves when nothing is under way. */
  async settle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }
}

/** Maximum number of a webhook's messages in memory. */
export const WINDOW = 500;
/** Concurrent requests to one endpoint. */
export const PARALLEL = 32;
/** Of these, attempts after the first, so that failing messages never take them all. */
const PARALLEL_RETRIES = PARALLEL / 2;
/** Records and messages that may wait for another attempt; beyond that the webhook waits for them. */
export const MAX_WAITING = 10_000;
/** Attempts that may still be unsaved. */
const MAX_UNSAVED = 5_000;
/** Time allowed for what is under way when the work is to end. */
const GRACE_MS = 1_000;

/** A session's share of the live events. */
interface LiveShare {
  /** Whether they are offered to the session. */
  readonly isLive: boolean;
  /** The place in the log up to which they were offered. */
  readonly offeredTo: Position;
  /** Has them offered after a position; returns false if they are beyond it: the session has to read on. */
  join(position: Position): boolean;
}

/**
 * Delivers what a webhook wants from a place in the log on, offered as live events or read from the log while the session is
 * behind these. Messages of one record are sent one after the other, in order; different records in parallel. A record whose
 * message is not accepted waits without being kept in memory: its further messages are read from the log when they are due.
 */
export class DeliverySession {
  readonly #ports: SessionPorts;
  readonly #state: DeliveryState;
  readonly #live: LiveShare;
  readonly #messages: MessageDelivery;
  readonly #eventTypes: ReadonlySet<string>;
  readonly #wants: DeliveryPredicate;
  readonly #end = new AbortController();
  readonly #brokenOff = new AbortController();
  readonly #window = new RecordWindow();
  readonly #sent: SentEvents;
  readonly #retries: Retries;
  readonly #notes: DeliveryNotes;
  readonly #sending: Sending;
  readonly #pause: EndpointBackoff;
  #webhook: Webhook;
  #followed: Position;
  /** Resolves when something has changed that the session may be waiting for. */
  #progress = Promise.withResolvers<void>();
  #failure: { error: unknown } | undefined;
  #saving = Promise.resolve();
  #dirty = true;
  #dueAt = Number.NEGATIVE_INFINITY;
  #lost = false;
  #finished = false;

  /** `followed`: the webhook has everything up to here, or it is in `state`. */
  constructor(
    ports: SessionPorts,
    state: DeliveryState,
    webhook: Webhook,
    live: LiveShare,
    followed: Position,
  ) {
    this.#ports = ports;
    this.#state = state;
    this.#webhook = webhook;
    this.#live = live;
    this.#followed = followed;
    this.#messages = new MessageDelivery(ports, state, this.#brokenOff.signal);
    this.#eventTypes = filterTypes(webhook);
    this.#wants = (event, change) =>
      this.#eventTypes.has(selectedAs(event)) &&
      (webhook.unchanged !== 'skip' || !isUnchanged(event, change));
    this.#sent = new SentEvents((sent, terms) => ports.recordSent(webhook, sent, terms));
    this.#notes = new DeliveryNotes(ports, state);
    this.#pause = new EndpointBackoff(ports.clock);
    this.#sending = new Sending({
      failed: (error) => {
        if (!isUnavailable(error)) this.#fail(error);
      },
      settled: () => {
        this.#dirty = true;
        this.#dueAt = Number.NEGATIVE_INFINITY;
        this.#wake();
        this.#pump();
      },
    });
    this.#retries = new Retries({
      ...ports,
      state,
      deliver: (notification) => this.#deliver(notification),
      webhook: () => this.#webhook,
      wants: this.#wants,
      followed: () => this.followed,
    });
  }

  /** The place in the log up to which the session has everything. */
  get followed(): Position {
    return this.#live.isLive ? Math.max(this.#followed, this.#live.offeredTo) : this.#followed;
  }

  /** When `tick` has something to do, on the monotonic clock. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /**
   * Works until the signal or `end`; then what is under way is given a moment, and everything is saved. Resolves with false when
   * the state was lost: it has to be opened again. Rejects with any other error that ended it.
   */
  async run(signal: AbortSignal): Promise<boolean> {
    const end = () => this.end();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) this.end();
    await this.#follow().catch((error) => this.#fail(error));
    signal.removeEventListener('abort', end);
    if (this.#finished) return true;
    const grace = setTimeout(() => this.#brokenOff.abort(), GRACE_MS);
    await this.#sending.settle();
    clearTimeout(grace);
    await this.#sent.flush().catch((error) => this.#ports.onDelay(this.#webhook.id, error));
    if (!this.#lost) await this.#save();
    if (this.#failure !== undefined) throw this.#failure.error;
    return !this.#lost;
  }

  /** Begins nothing more, and lets `run` finish. */
  end(): void {
    this.#end.abort();
    this.#wake();
  }

  /** Lets `run` finish if there is nothing left to do or to save; returns whether that is so. Rejects with `unavailable`. */
  async finish(): Promise<boolean> {
    if (this.#isBusy) return false;
    await this.#sent.flush();
    if (this.#isBusy) return false;
    this.#finished = true;
    this.end();
    return true;
  }

  /** Accepts a live event, unless there is no room for it: then the session has to read it from the log. */
  offer(event: RecordedEvent, change: ReportedChange, before: Position): boolean {
    if (this.#ended) return false;
    return !this.#wants(event, change) || this.#accept(event, change, before);
  }

  /** Reads from the log what follows this position: it is no longer offered. */
  leftBehind(position: Position): void {
    this.#followed = Math.max(this.#followed, position);
    this.#wake();
  }

  /** Continues with another version of the webhook, which sends the same of the same events. */
  update(webhook: Webhook): void {
    if (webhook.url !== this.#webhook.url) this.#pause.lift();
    this.#webhook = webhook;
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Tries everything that is waiting now, whatever the endpoint asked for. */
  retryAll(): void {
    this.#pause.lift();
    this.#retries.retryAll();
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Sends a ping alongside everything else. */
  ping(request: WebhookRequest): void {
    this.#sending.start(() => this.#messages.ping(this.#webhook, request));
  }

  /** Begins what is due by now. */
  tick(): void {
    this.#retries.refresh();
    this.#pump();
    this.#dueAt = this.#pause.holds ? this.#pause.until : this.#retries.dueAt;
  }

  /** Saves what has changed, and notes from time to time in the log how far the delivery has got. Rejects with `unavailable`. */
  async flush(): Promise<void> {
    if (this.#dirty) await this.#save();
    if (this.#lost) return this.end();
    if (await this.#notes.appendDue(this.#webhook)) this.#dirty = true;
    this.#pump();
  }

  /** The state has been changed otherwise. */
  changed(): void {
    this.#dirty = true;
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  get #ended(): boolean {
    return this.#end.signal.aborted;
  }

  get #isBusy(): boolean {
    const { waiting, at } = this.#state;
    const isSending = this.#window.size > 0 || this.#sending.size > 0 || waiting.size > 0;
    const isWaiting = isSending || at.retryFailedAfter !== undefined;
    return isWaiting || this.#dirty || this.#notes.isDue || this.#ended || !this.#live.isLive;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.end();
  }

  #wake(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }

  async #follow(): Promise<void> {
    while (!this.#ended) {
      if (this.#live.isLive) await this.#progress.promise;
      else await this.#catchUp();
    }
  }

  /** Reads the log until the live events have the rest. */
  async #catchUp(): Promise<void> {
    const { eventLog, changedFields, onUnreadable, onDelay } = this.#ports;
    const { id, workspace } = this.#webhook;
    const { signal } = this.#end;
    const filter = logFilter({ workspace, eventTypes: [...this.#eventTypes] });
    for await (const batch of eventLog.follow({ after: this.#followed, filter, signal })) {
      for (const event of batch.unreadable ?? []) onUnreadable(id, event);
      const events = batch.events.filter(({ type }) => feedLogTypes.has(type));
      const changes = await retryWhileUnavailable(
        () => changedFields.changes(events),
        signal,
        (error) => onDelay(id, error),
      );
      if (changes === undefined) return;
      for (const [index, event] of events.entries()) {
        const change = changes[index] as ChangeOrError;
        if (this.#eventTypes.has(selectedAs(event))) {
          if (change instanceof UnknownSchemaVersion) return this.#waitForUpgrade(change);
          if (change instanceof UnreadableError) onUnreadable(id, event);
          else await this.#enqueue(event, reported(change));
        }
        if (signal.aborted) return;
        this.#followed = event.position;
      }
      this.#followed = batch.position;
      this.#dirty = true;
      if (batch.caughtUp && this.#live.join(batch.position)) return;
    }
  }

  /** Accepts an event as soon as there is room, unless it is not wanted. */
  async #enqueue(event: RecordedEvent, change: ReportedChange): Promise<void> {
    if (!this.#wants(event, change)) return;
    while (!this.#ended && !this.#accept(event, change, this.#followed)) await this.#progress.promise;
  }

  #accept(event: RecordedEvent, change: ReportedChange, before: Position): boolean {
    if (!this.#retries.covers(event)) {
      if (this.#window.size >= WINDOW || this.#state.waiting.size >= MAX_WAITING) return false;
      this.#window.add({ event, change, before });
    }
    // Before anything else: a record that no longer waits must not be mistaken for one that is yet to be read.
    this.#followed = event.position;
    this.#dirty = true;
    this.#pump();
    return true;
  }

  /**
   * What was read earlier is delivered, and what is waiting is tried again; but nothing is skipped. An instance of a
   * newer version continues from here when it gets the lease.
   */
  async #waitForUpgrade(error: UnknownSchemaVersion): Promise<void> {
    this.#ports.onDelay(this.#webhook.id, error);
    while (!this.#ended) await this.#progress.promise;
  }

  /** One save after the other: each expects the row of the one before. */
  #save(): Promise<void> {
    const saving = this.#saving.then(() => this.#saveNow());
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  async #saveNow(): Promise<void> {
    if (this.#lost) return;
    this.#dirty = false;
    const { at } = this.#state;
    at.position = this.#window.floor ?? this.followed;
    at.followed = this.followed;
    if (this.#live.isLive) at.live = true;
    else delete at.live;
    this.#state.count(this.#window);
    try {
      if (this.#state.changed && !(await this.#state.save())) this.#lost = true;
    } catch (error) {
      this.#dirty = true;
      throw error;
    }
  }

  /** Begins as many attempts as may be under way. */
  #pump(): void {
    if (this.#pause.holds) return;
    while (!this.#ended && this.#sending.size < PARALLEL && this.#state.unsavedAttempts < MAX_UNSAVED) {
      const retry = this.#retries.busy < PARALLEL_RETRIES ? this.#retries.next() : undefined;
      const pending = retry ? undefined : this.#window.next();
      if (retry) this.#sending.start(retry);
      else if (pending) this.#sending.start(() => this.#first(pending));
      else return;
    }
  }

  async #first(pending: Pending): Promise<void> {
    const { stream, revision: next, position, recordedAt } = pending.event;
    const outcome = await this.#deliver({ ...pending, tries: 0, step: 0 });
    if (outcome.kind === 'ended') return;
    if (outcome.kind !== 'failed' || outcome.delayMs === undefined) return this.#window.finish(pending);
    this.#state.wait({
      ...{ stream, next, position, before: pending.before, since: Date.parse(recordedAt), tries: 1 },
      ...tryAgain(outcome, this.#ports.clock),
      last: this.#window.block(pending),
      triedVersion: this.#webhook.version,
    });
  }

  /** Makes one attempt, and acts on what it reveals about the endpoint as a whole. */
  async #deliver(notification: Notification): Promise<Outcome> {
    const { position } = notification.event;
    const isErased = await this.#retryWhileUnavailable(() => this.#ports.erased.has(notification.event));
    if (this.#ended) return { kind: 'ended', gone: false };
    if (isErased) return { kind: 'erased' };
    // While the audit trail cannot be written, nothing more is sent.
    await this.#retryWhileUnavailable(() => this.#sent.recordDue());
    if (this.#ended) return { kind: 'ended', gone: false };
    const webhook = this.#webhook;
    const outcome = await this.#messages.deliver(webhook, notification, () =>
      this.#sent.add({ from: position, to: position }, 1, termsOf(webhook)),
    );
    await this.#retryWhileUnavailable(() => this.#sent.recordDue());
    if (outcome.kind === 'ended' && outcome.gone) this.#disable(webhook, 'gone');
    if (outcome.kind === 'delivered') {
      this.#notes.delivered();
      this.#retries.accepted();
    }
    if (outcome.kind === 'failed') {
      // Another endpoint may have taken its place meanwhile.
      if (webhook.url === this.#webhook.url) this.#pause.extend(outcome.pauseMs);
      if (outcome.endpointFails) this.#disable(webhook, 'failing');
    }
    return outcome;
  }

  /** Resolves with the result of `work` once the store can be reached; undefined when the session ends before. */
  #retryWhileUnavailable<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    return retryWhileUnavailable(work, this.#end.signal, (error) =>
      this.#ports.onDelay(this.#webhook.id, error),
    );
  }

  /** Begins no more attempts, and ends the session when the webhook is disabled. */
  #disable(webhook: Webhook, reason: 'gone' | 'failing'): void {
    if (!this.#pause.forEver()) return;
    this.#ports.disable(webhook, reason).then(
      () => this.end(),
      (error) => this.#fail(error),
    );
  }
}
