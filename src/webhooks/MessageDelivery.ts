import { feedEventType } from '../feed/cloudEvent.ts';
import type { Deidentifier } from '../feed/deidentify.ts';
import type { Clock } from '../ports/clock.ts';
import type { RecordedEvent } from '../ports/eventLog.ts';
import type { NewAttempt } from './attempts.ts';
import type { DeliveryState } from './DeliveryState.ts';
import { buildMessage, buildPing, PING_TYPE, type WebhookMessage } from './message.ts';
import { FAILING_MS, nextDelay, type RetrySchedule, retryAfterMs } from './schedule.ts';
import { unseal } from './sealSecret.ts';
import { signMessage } from './signMessage.ts';
import type { Attempt, WebhookSender } from './WebhookSender.ts';
import { validSecrets, type Webhook, type WebhookRequest, type WebhookSecret } from './webhook.ts';

export interface MessagePorts {
  sender: Pick<WebhookSender, 'send'>;
  clock: Clock;
  schedule: RetrySchedule;
  /** Where receivers find the service; messages name the schema of their data only where that is known. */
  publicUrl?: string | undefined;
  /** The key that seals secrets. */
  secretsKey(): Promise<Uint8Array>;
  /** The de-identified view, made when it is first asked for. */
  deidentifier(): Promise<Deidentifier>;
}

/** An event to tell of. */
export interface Telling {
  event: RecordedEvent;
  /** Names of the fields that it changed. */
  changed: string[];
  /** How often that was tried before. */
  tries: number;
}

/** What came of one try. */
export type Outcome =
  /** The endpoint took it. */
  | { kind: 'delivered' }
  /** It was broken off, or the endpoint is gone for good (410): the message is as it was, and no other may go. */
  | { kind: 'ended'; gone: boolean }
  | Failure;

/** The endpoint did not take it. */
export interface Failure {
  kind: 'failed';
  /** When to try again, milliseconds since 1970; undefined: the message is given up. */
  dueAt: number | undefined;
  /** How long to send nothing to the endpoint at all: it said that it gets too much (429). */
  pauseMs: number;
  /** The endpoint took nothing for days. */
  endpointFails: boolean;
}

const GONE = 410;
const TOO_MANY_REQUESTS = 429;

const isSuccess = ({ status = 0 }: Attempt) => status >= 200 && status < 300;

/** Makes single tries to deliver messages of one webhook, and notes what came of them in its state. */
export class MessageDelivery {
  readonly #ports: MessagePorts;
  readonly #state: DeliveryState;
  readonly #brokenOff: AbortSignal;
  readonly #secrets = new WeakMap<WebhookSecret, string>();

  /** `brokenOff` ends the tries that are under way. */
  constructor(ports: MessagePorts, state: DeliveryState, brokenOff: AbortSignal) {
    this.#ports = ports;
    this.#state = state;
    this.#brokenOff = brokenOff;
  }

  /** Tells a webhook of an event, once. Throws when only a newer version of the service can read the event. */
  async deliver(webhook: Webhook, { event, changed, tries }: Telling): Promise<Outcome> {
    const deidentify = webhook.payload === 'deidentified' ? await this.#ports.deidentifier() : refuse;
    const message = buildMessage(webhook, event, changed, deidentify, this.#ports.publicUrl);
    const attempt = await this.#send(webhook, message);
    if (attempt === undefined) return { kind: 'ended', gone: false };
    const { at } = this.#state;
    const now = this.#ports.clock.now();
    const delay = isSuccess(attempt) ? undefined : nextDelay(this.#ports.schedule, tries + 1, attempt);
    const { type } = feedEventType(event.type) ?? event;
    const subject = { messageId: message.id, type, attempt: tries + 1, event };
    const isGone = attempt.status === GONE;
    this.#record(subject, attempt, isGone ? now : delay && now + delay);
    if (isSuccess(attempt)) {
      at.lastSuccessAt = now;
      delete at.failingSince;
      return { kind: 'delivered' };
    }
    at.failingSince ??= now;
    if (isGone) return { kind: 'ended', gone: true };
    if (delay === undefined) {
      const { stream, revision, position } = event;
      this.#state.fail({ messageId: message.id, stream, revision, position });
    }
    return {
      kind: 'failed',
      dueAt: delay === undefined ? undefined : now + delay,
      pauseMs: attempt.status === TOO_MANY_REQUESTS ? retryAfterMs(attempt) : 0,
      endpointFails: now - Math.max(at.failingSince, Date.parse(webhook.updatedAt)) >= FAILING_MS,
    };
  }

  /** Sends what was asked for to see whether messages arrive, once. */
  async ping(webhook: Webhook, request: WebhookRequest): Promise<void> {
    const message = buildPing(webhook, request);
    const attempt = await this.#send(webhook, message);
    if (attempt) this.#record({ messageId: message.id, type: PING_TYPE, attempt: 0 }, attempt, undefined);
  }

  async #send(webhook: Webhook, message: WebhookMessage): Promise<Attempt | undefined> {
    const now = this.#ports.clock.now();
    const valid = validSecrets(webhook.secrets, now);
    const secrets = await Promise.all(valid.map((secret) => this.#unsealed(webhook, secret)));
    const headers = signMessage(message, secrets, now);
    const attempt = await this.#ports.sender.send(webhook.url, headers, message.body, this.#brokenOff);
    return attempt.error === 'aborted' ? undefined : attempt;
  }

  #record(
    subject: { messageId: string; type: string; attempt: number; event?: RecordedEvent },
    attempt: Attempt,
    dueAt: number | undefined,
  ): void {
    const { status, error, answer } = attempt;
    const outcome = isSuccess(attempt) ? 'delivered' : dueAt === undefined ? 'failed' : 'retrying';
    const shown: NewAttempt['shown'] = {
      message_id: subject.messageId,
      type: subject.type,
      attempt: subject.attempt,
      at: attempt.at,
      duration_ms: attempt.durationMs,
      outcome,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      ...(answer !== undefined && { answer }),
      ...(outcome === 'retrying' &&
        dueAt !== undefined && { next_attempt_at: new Date(dueAt).toISOString() }),
    };
    const event = subject.event && { stream: subject.event.stream, revision: subject.event.revision };
    this.#state.record({ shown, event });
  }

  /** Secrets are unsealed once for each state of the webhook that they came with. */
  async #unsealed(webhook: Webhook, secret: WebhookSecret): Promise<string> {
    let text = this.#secrets.get(secret);
    if (text === undefined) {
      text = unseal(await this.#ports.secretsKey(), webhook, secret.sealed);
      this.#secrets.set(secret, text);
    }
    return text;
  }
}

const refuse: Deidentifier = () => {
  throw new Error('the messages of this webhook are not de-identified');
};
