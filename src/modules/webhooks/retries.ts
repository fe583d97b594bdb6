import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import type { DisclosedRange, DisclosureTerms } from '../../domain/events/payloads.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcasting.ts';
import { changedKind, eventSubject } from '../../domain/records/catalog.ts';
import { type NarrowedView, narrowedViews } from '../../domain/records/schema/deidentification.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/metrics.ts';
import { traced } from '../../platform/tracing.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import type { Change, ChangedFields, ChangeOrError, Narrowing } from '../eventStream/changedFields.ts';
import { feedEventType } from '../eventStream/cloudEvents.ts';
import { formatPosition } from '../eventStream/position.ts';
import {
  type Attempt,
  FAILING_MS,
  type NewAttempt,
  nextDelay,
  type RetrySchedule,
  retryAfterMs,
} from './attempts.ts';
import {
  buildMessage,
  buildPing,
  messageId,
  PING_TYPE,
  type ReportedChange,
  signMessage,
  type WebhookMessage,
} from './messages.ts';
import { openSecrets, type SecretsKeys } from './secrets.ts';
import type { WebhookSender } from './sender.ts';
import type { DeliveryState, ErasedEvents, NotePorts, Waiting } from './sessionState.ts';
import type { Webhook, WebhookRequest } from './webhook.ts';

interface MessagePorts {
  sender: Pick<WebhookSender, 'send'>;
  clock: Clock;
  schedule: RetrySchedule;
  /** Where receivers find the service; messages name the schema of their data only where that is known. */
  publicUrl?: string | undefined;
  secretsKeys: SecretsKeys;
  /** Resolves with what makes a view of an event. */
  narrowing(view: NarrowedView, event: RecordedEvent): Promise<Narrowing>;
}

/** An event to tell the webhook of. */
export interface Notification {
  event: RecordedEvent;
  /** What the event did. */
  change: ReportedChange;
  /** How often it was tried before. */
  tries: number;
  /** How many of these attempts were due by the schedule. */
  step: number;
  /**
   * Set when it is tried before it is due: the milliseconds until then, for which it still waits if it is not
   * accepted.
   */
  heldMs?: number | undefined;
}

/** The outcome of one attempt. */
export type Outcome =
  /** The endpoint accepted it. */
  | { kind: 'delivered' }
  /** It was aborted, or the endpoint is gone for good (410): the message is as it was, and no other may be sent. */
  | { kind: 'ended'; gone: boolean }
  /** Its event was erased since it was read, and nothing was sent. */
  | { kind: 'erased' }
  | Failure;

/** The endpoint did not accept it. */
interface Failure {
  kind: 'failed';
  /** Milliseconds until it is tried again; undefined: the message is given up. */
  delayMs: number | undefined;
  /** How many of its attempts were due by the schedule. */
  step: number;
  /** It must not be tried before it is due. */
  woken: boolean;
  /** How long to send nothing at all to the endpoint: it said that it receives too much (429). */
  pauseMs: number;
  /** The endpoint accepted nothing for days. */
  endpointFails: boolean;
}

const GONE = 410;
const TOO_MANY_REQUESTS = 429;

const isSuccess = ({ status = 0 }: Attempt) => status >= 200 && status < 300;

/** Makes single attempts to deliver messages of one webhook, and notes their outcomes in its state. */
export class MessageDelivery {
  readonly #ports: MessagePorts;
  readonly #state: DeliveryState;
  readonly #brokenOff: AbortSignal;
  /** The moment up to which `at.failing` has been counted, on the monotonic clock. */
  #countedAt: number;

  /** `brokenOff` aborts the attempts under way. */
  constructor(ports: MessagePorts, state: DeliveryState, brokenOff: AbortSignal) {
    this.#ports = ports;
    this.#state = state;
    this.#brokenOff = brokenOff;
    this.#countedAt = ports.clock.elapsed();
  }

  /** Tells a webhook of an event, once; `onSent` as of `WebhookSender.send`. Throws when only a newer version of the service can read the event. */
  async deliver(webhook: Webhook, notification: Notification, onSent: () => void): Promise<Outcome> {
    const { event, change, tries } = notification;
    const view = narrowedViews.find((one) => one === webhook.payload);
    const narrowing = view && (await this.#ports.narrowing(view, event));
    const message = buildMessage(webhook, event, change, narrowing, this.#ports.publicUrl);
    const attempt = await this.#send(webhook, message, onSent);
    if (attempt === undefined) return { kind: 'ended', gone: false };
    const failed = isSuccess(attempt) ? undefined : this.#afterFailure(notification, attempt);
    const { type } = feedEventType(event) ?? event;
    const subject = { messageId: message.id, type, attempt: tries + 1, event };
    const isGone = attempt.status === GONE;
    this.#record(subject, attempt, isGone ? 0 : failed?.delayMs);
    const endpointFails = this.#countFailing(webhook, failed !== undefined);
    if (failed === undefined) return { kind: 'delivered' };
    if (isGone) return { kind: 'ended', gone: true };
    if (failed.delayMs === undefined) {
      const { stream, revision, position } = event;
      this.#state.fail({ messageId: message.id, stream, revision, position });
    }
    const pauseMs = attempt.status === TOO_MANY_REQUESTS ? retryAfterMs(attempt) : 0;
    return { kind: 'failed', ...failed, pauseMs, endpointFails };
  }

  /** An attempt that was not due leaves the schedule as it is. */
  #afterFailure(
    { step, heldMs }: Notification,
    attempt: Attempt,
  ): Pick<Failure, 'delayMs' | 'step' | 'woken'> {
    const askedMs = retryAfterMs(attempt);
    if (heldMs !== undefined) return { delayMs: Math.max(heldMs, askedMs), step, woken: true };
    const delayMs = nextDelay(this.#ports.schedule, step + 1, attempt);
    return { delayMs, step: step + 1, woken: askedMs > 0 };
  }

  /**
   * Counts for how long nothing was accepted while attempts were made, on a monotonic clock; returns true when that
   * comes to days. A change of the webhook restarts the count.
   */
  #countFailing({ version }: Webhook, hasFailed: boolean): boolean {
    const { at } = this.#state;
    const { clock } = this.#ports;
    const passedMs = clock.elapsed() - this.#countedAt;
    this.#countedAt += passedMs;
    if (!hasFailed) {
      at.lastSuccessAt = clock.now();
      delete at.failing;
      return false;
    }
    const { since = clock.now(), ms = 0 } = at.failing ?? {};
    const isSame = at.failing?.version === version;
    at.failing = { since, ms: isSame ? ms + passedMs : 0, version };
    return at.failing.ms >= FAILING_MS;
  }

  /** Sends the ping that was requested to see whether messages arrive, once. */
  async ping(webhook: Webhook, request: WebhookRequest): Promise<void> {
    const message = buildPing(webhook, request);
    const attempt = await this.#send(webhook, message);
    if (attempt) this.#record({ messageId: message.id, type: PING_TYPE, attempt: 0 }, attempt, undefined);
  }

  #send(webhook: Webhook, message: WebhookMessage, onSent?: () => void): Promise<Attempt | undefined> {
    const work = { name: 'deliver', kind: 'CLIENT', parent: message.traceparent } as const;
    return traced(work, async (span) => {
      // The trace of what is de-identified would lead to the person it is about.
      const isTold = message.traceparent !== undefined && span !== undefined;
      const sent = isTold ? { ...message, traceparent: span.traceparent } : message;
      const attempt = await this.#try(webhook, sent, onSent);
      if (attempt?.status !== undefined) span?.set({ 'http.response.status_code': attempt.status });
      if (attempt?.error !== undefined) span?.set({ 'error.type': attempt.error });
      if (attempt === undefined || !isSuccess(attempt)) span?.fail();
      return attempt;
    });
  }

  async #try(webhook: Webhook, message: WebhookMessage, onSent?: () => void): Promise<Attempt | undefined> {
    const now = this.#ports.clock.now();
    const secrets = await openSecrets(this.#ports.secretsKeys, webhook, now);
    const headers = signMessage(message, secrets, now);
    const attempt = await this.#ports.sender.send(
      webhook.url,
      headers,
      message.body,
      this.#brokenOff,
      onSent,
    );
    return attempt.error === 'aborted' ? undefined : attempt;
  }

  #record(
    subject: { messageId: string; type: string; attempt: number; event?: RecordedEvent },
    attempt: Attempt,
    delayMs: number | undefined,
  ): void {
    const { status, error, answer } = attempt;
    const outcome = isSuccess(attempt) ? 'delivered' : delayMs === undefined ? 'failed' : 'retrying';
    measurements.counter('chartledger.webhook.attempts', { 'chartledger.outcome': outcome }).add();
    const { clock } = this.#ports;
    const shown: NewAttempt['shown'] = {
      message_id: subject.messageId,
      type: subject.type,
      ...(subject.event && shownEvent(subject.event)),
      attempt: subject.attempt,
      at: attempt.at,
      duration_ms: attempt.durationMs,
      outcome,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      ...(answer !== undefined && { answer }),
      ...(outcome === 'retrying' &&
        delayMs !== undefined && { next_attempt_at: new Date(clock.now() + delayMs).toISOString() }),
    };
    const event = subject.event && { stream: subject.event.stream, revision: subject.event.revision };
    this.#state.record({ shown, event });
  }
}

/** Returns what an attempt says about the event it concerns. */
function shownEvent(event: RecordedEvent): Partial<NewAttempt['shown']> {
  const { kind, recordId, documentId } = eventSubject(event);
  return {
    ...(kind !== undefined && { kind }),
    ...(recordId !== undefined && { record_id: recordId }),
    ...(documentId !== undefined && { document_id: documentId }),
    ...(changedKind(event) !== undefined && { version: event.revision + 1 }),
    position: formatPosition(event.position),
  };
}

/** Events of a waiting record that are read at once. */
const PAGE = 20;
/** How long a message waits that only a newer version of the service can build. */
const UPGRADE_MS = 60_000;
/** When to read a record again if the log does not yield what the follower has passed. */
const LAG_MS = 1_000;

/** Of what is waiting but not due, the number begun at each look once the endpoint accepts messages again. */
const WOKEN_AT_ONCE = 5;

interface RetryContext {
  eventLog: EventLog;
  changedFields: ChangedFields;
  state: DeliveryState;
  clock: Clock;
  /** Makes one attempt. */
  deliver(notification: Notification): Promise<Outcome>;
  webhook(): Webhook;
  wants: DeliveryPredicate;
  /** Returns the place up to which the log was followed. */
  followed(): Position;
}

/**
 * Delivers what is waiting for another attempt, one message at a time per stream: when it is due; a little at a time
 * when the endpoint has accepted another message since; and all at once on request. What is tried before it is due
 * keeps its place in the schedule, and is not tried early again before then.
 */
export class Retries {
  readonly #context: RetryContext;
  /** Streams with a message on its way. */
  readonly #busy = new Set<string>();
  /** What is to be tried, the latest in the log first. */
  #next: Waiting[] = [];
  /** On the monotonic clock: when the endpoint last accepted a message, and when everything was requested. */
  #takenAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(context: RetryContext) {
    this.#context = context;
  }

  /** The number on their way. */
  get busy(): number {
    return this.#busy.size;
  }

  /** To be called when the endpoint accepted a message. */
  accepted(): void {
    this.#takenAt = this.#context.clock.elapsed();
  }

  /** Has everything that is waiting now tried now. */
  retryAll(): void {
    this.#askedAt = this.#context.clock.elapsed();
  }

  /** When there is something to try, on the monotonic clock; infinite when nothing is waiting. */
  get dueAt(): number {
    let dueAt = Number.POSITIVE_INFINITY;
    for (const one of this.#context.state.waiting.values()) {
      if (this.#busy.has(one.stream)) continue;
      if (one.tried < this.#askedAt || this.#isDue(one) || this.#isWoken(one))
        return this.#context.clock.elapsed();
      dueAt = Math.min(dueAt, one.due);
    }
    return dueAt;
  }

  /** Looks for what is to be tried by now. */
  refresh(): void {
    const waiting = [...this.#context.state.waiting.values()];
    const isWanted = (one: Waiting) => this.#isDue(one) || one.tried < this.#askedAt;
    const woken = waiting.filter((one) => !isWanted(one) && this.#isWoken(one)).sort(latestFirst);
    const wanted = waiting.filter(isWanted);
    this.#next = [...wanted, ...woken.slice(-WOKEN_AT_ONCE)].sort(latestFirst);
  }

  /** Whether an event's record is waiting, and will be delivered from the log including this event. */
  covers({ stream, revision }: RecordedEvent): boolean {
    const waiting = this.#context.state.waiting.get(stream);
    // Events before the one it is waiting with were delivered before the work was interrupted.
    if (waiting && revision >= waiting.next && revision > waiting.last) {
      waiting.last = revision;
      this.#context.state.wait(waiting);
    }
    return waiting !== undefined;
  }

  /**
   * Returns the work for the next one to be tried; undefined when there is none. The work rejects with `unavailable`.
   */
  next(): (() => Promise<void>) | undefined {
    for (let one = this.#next.pop(); one; one = this.#next.pop()) {
      const { stream } = one;
      if (this.#busy.has(stream) || !this.#context.state.has(one)) continue;
      this.#busy.add(stream);
      const waiting = one;
      return () => this.#retry(waiting).finally(() => this.#busy.delete(stream));
    }
    return undefined;
  }

  /** It is due, or was last tried with another version of the webhook. */
  #isDue({ due, triedVersion }: Waiting): boolean {
    return due <= this.#context.clock.elapsed() || triedVersion !== this.#context.webhook().version;
  }

  #isWoken({ woken, tried }: Waiting): boolean {
    return !woken && tried < this.#takenAt;
  }

  /**
   * Continues until a message is not accepted, or the record has reached the place up to which the log was followed.
   */
  async #retry(waiting: Waiting): Promise<void> {
    const { eventLog, changedFields, followed } = this.#context;
    for (let at = waiting; ; ) {
      const limit = at.once ? 1 : PAGE;
      const events = await eventLog.readStream(at.stream, { from: at.next, limit }).catch(asUnreadable);
      if (events instanceof UnreadableError) return this.#context.state.release(at);
      const changes = await changedFields.changes(events);
      for (const [index, event] of events.entries()) {
        // Its event was erased.
        if (at.once && event.revision !== at.next) return this.#context.state.release(at);
        // The follower is about to reach it.
        if (!at.once && event.position > followed()) return this.#context.state.release(at);
        const change = changes[index] as ChangeOrError;
        if (change instanceof UnknownSchemaVersion) return this.#readAgain(at, UPGRADE_MS);
        // Nobody can report it, nor what follows in the record.
        if (change instanceof UnreadableError) return this.#context.state.release(at);
        const next = await this.#retryOne(at, event, change);
        if (next === undefined) return;
        at = next;
      }
      if (events.length === limit) continue;
      if (at.last < at.next) return this.#context.state.release(at);
      // What the follower passed since the last read is still to be read; a log that does not yield it is not
      // pressed.
      if (events.length === 0) return this.#readAgain(at, LAG_MS);
    }
  }

  /** Resolves with what then is waiting; undefined when it is not to continue with that. */
  async #retryOne(waiting: Waiting, event: RecordedEvent, change: Change): Promise<Waiting | undefined> {
    const { state, clock, deliver, wants, webhook } = this.#context;
    const { tries, step, once } = waiting;
    if (once || wants(event, change)) {
      const heldMs = this.#isDue(waiting) ? undefined : waiting.due - clock.elapsed();
      const outcome = await deliver({ event, change, tries, step, heldMs });
      if (outcome.kind === 'ended') return undefined;
      if (outcome.kind === 'failed' && outcome.delayMs !== undefined) {
        state.wait({
          ...waiting,
          ...tryAgain(outcome, clock),
          tries: tries + 1,
          triedVersion: webhook().version,
        });
        return undefined;
      }
      if (outcome.kind === 'delivered' && once) state.recover(messageId(webhook().id, event.id));
    }
    if (once) {
      state.release(waiting);
      return undefined;
    }
    const { position, revision, recordedAt } = event;
    const since = Date.parse(recordedAt);
    const due = clock.elapsed();
    const sent = { position, before: position, since, tries: 0, step: 0, woken: false, due, delayMs: 0 };
    const next = { ...waiting, ...sent, next: revision + 1 };
    state.wait(next);
    return next;
  }

  /** Makes the record wait for this long, whatever the endpoint accepts meanwhile. */
  #readAgain(waiting: Waiting, delayMs: number): void {
    const { state, clock, webhook } = this.#context;
    const tried = clock.elapsed();
    const wait = { tried, due: tried + delayMs, delayMs, triedVersion: webhook().version };
    state.wait({ ...waiting, ...wait, woken: true });
  }
}

function latestFirst(a: Waiting, b: Waiting): number {
  return b.position - a.position;
}

/** Returns when to try again what was not accepted, from now on. */
export function tryAgain(
  { delayMs = 0, step, woken }: Failure,
  clock: Clock,
): Pick<Waiting, 'tried' | 'due' | 'delayMs' | 'step' | 'woken'> {
  const tried = clock.elapsed();
  return { tried, due: tried + delayMs, delayMs, step, woken };
}

/** Whether anything is to be sent for an event that did this. */
export type DeliveryPredicate = (event: RecordedEvent, change: ReportedChange) => boolean;

/** What a delivery works with. */
export interface SessionPorts extends MessagePorts, NotePorts {
  eventLog: EventLog;
  changedFields: ChangedFields;
  erased: Pick<ErasedEvents, 'refresh' | 'has'>;
  /** Records in the audit trail what was sent, and under which terms. */
  recordSent(
    webhook: Webhook,
    sent: Pick<DisclosedRange, 'ranges' | 'count'>,
    terms: DisclosureTerms | undefined,
  ): Promise<void>;
  /** Disables the webhook, by an event. */
  disable(webhook: Webhook, reason: 'gone' | 'failing'): Promise<void>;
  /** Called with an error that delays the delivery to a webhook. */
  onDelay(webhookId: string, error: unknown): void;
  /** Called with an event that is never delivered, because the log can no longer read it. */
  onUnreadable(webhookId: string, event: Pick<RecordedEvent, 'id' | 'position'>): void;
}
