import type { RecordedEvent } from '../../domain/events/event.ts';
import { changedKind, eventSubject } from '../../domain/records/eventSubject.ts';
import { measurements } from '../../platform/metrics/Measurements.ts';
import { traced } from '../../platform/traced.ts';
import type { Clock } from '../../storage/clock.ts';
import { feedEventType } from '../eventStream/cloudEvent.ts';
import type { Deidentifier } from '../eventStream/Deidentifier.ts';
import { formatPosition } from '../eventStream/position.ts';
import type { Attempt } from './attempt.ts';
import type { NewAttempt } from './attempts.ts';
import type { DeliveryState } from './DeliveryState.ts';
import { openSecrets, type SecretsKeys } from './openSecrets.ts';
import { FAILING_MS, nextDelay, type RetrySchedule, retryAfterMs } from './schedule.ts';
import { signMessage } from './signMessage.ts';
import type { WebhookSender } from './WebhookSender.ts';
import type { Webhook, WebhookRequest } from './webhook.ts';
import {
  buildMessage,
  buildPing,
  PING_TYPE,
  type ToldOfChange,
  type WebhookMessage,
} from './webhookMessage.ts';

export interface MessagePorts {
  sender: Pick<WebhookSender, 'send'>;
  clock: Clock;
  schedule: RetrySchedule;
  /** Where receivers find the service; messages name the schema of their data only where that is known. */
  publicUrl?: string | undefined;
  secretsKeys: SecretsKeys;
  /** Resolves with the de-identified view, made when it is first asked for. */
  deidentifier(): Promise<Deidentifier>;
}

/** An event to tell the webhook of. */
export interface Telling {
  event: RecordedEvent;
  /** What the event did. */
  change: ToldOfChange;
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
export interface Failure {
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
  async deliver(webhook: Webhook, telling: Telling, onSent: () => void): Promise<Outcome> {
    const { event, change, tries } = telling;
    const deidentify = webhook.payload === 'deidentified' ? await this.#ports.deidentifier() : refuse;
    const message = buildMessage(webhook, event, change, deidentify, this.#ports.publicUrl);
    const attempt = await this.#send(webhook, message, onSent);
    if (attempt === undefined) return { kind: 'ended', gone: false };
    const failed = isSuccess(attempt) ? undefined : this.#afterFailure(telling, attempt);
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
  #afterFailure({ step, heldMs }: Telling, attempt: Attempt): Pick<Failure, 'delayMs' | 'step' | 'woken'> {
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

const refuse: Deidentifier = () => {
  throw new Error('the messages of this webhook are not de-identified');
};
