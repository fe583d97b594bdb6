import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { asUnreadable, UnreadableError, unavailable } from '../../platform/errors.ts';
import { pause } from '../../platform/retry.ts';
import type { SharedSemaphore } from '../../platform/threads/semaphore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { findMessage, type MessageEvent } from './attempts.ts';
import type { LiveEvents, Subscriber } from './liveEvents.ts';
import type { ReportedChange } from './messages.ts';
import type { SessionPorts } from './retries.ts';
import { openSecrets } from './secrets.ts';
import { DeliverySession, MAX_WAITING, WINDOW } from './session.ts';
import { DeliveryState, type DeliveryStatePorts } from './sessionState.ts';
import { filterTypes, type Webhook, type WebhookRequest } from './webhook.ts';

export interface EndpointPorts extends SessionPorts, DeliveryStatePorts {
  eventLog: EventLog;
  liveEvents: LiveEvents;
  /** Places for sessions that are being opened. */
  opening: Pick<SharedSemaphore, 'wait' | 'give'>;
  /** Called when a webhook begins a session. */
  onActive(endpoint: Endpoint): void;
}

/** Where the delivery of a webhook is for which nothing is left to do. */
export interface CaughtUp {
  /** The webhook has everything up to here. */
  position: Position;
  /** Revision of the last request that was dealt with. */
  handled: number;
}

/** Failed messages queued for another attempt together. */
const FAILED_PAGE = 200;
/** How often a webhook whose secret cannot be opened is checked. */
const SECRET_CHECK_MS = 250;
const RETRY_MS = 250;
const RETRY_MOST_MS = 5_000;

interface Offered {
  event: RecordedEvent;
  change: ReportedChange;
  before: Position;
}

/** Returns a key for what is sent of which events: a webhook for which that changes begins a new session. */
function sessionKey(webhook: Webhook): string {
  return [webhook.payload, webhook.unchanged, ...filterTypes(webhook)].join();
}

/**
 * A webhook whose messages may be sent, while this instance has the lease of its shard. As long as it has caught up with the log
 * and nothing is waiting, it is no more than a subscriber of the live events; a session begins with the next event that it wants,
 * or with a request, and ends when all is delivered and saved.
 */
export class Endpoint implements Subscriber {
  readonly #ports: EndpointPorts;
  #webhook: Webhook;
  #eventTypes: ReadonlySet<string>;
  /** The webhook has everything up to here, apart from what is in the session; undefined: as stored. */
  #after: Position | undefined;
  #handled: number;
  #isLive = false;
  #offeredTo: Position | undefined;
  /** What was offered before there was a session for it. */
  #offered: Offered[] = [];
  #state: DeliveryState | undefined;
  #session: DeliverySession | undefined;
  #rewind: WebhookRequest | undefined;
  #handling: Promise<void> | undefined;
  #working: Promise<void> | undefined;
  #ended: Promise<void> | undefined;
  /** Set while its row may be outdated: it has to be opened before the position of its shard is saved. */
  #failure: { error: unknown } | undefined;
  #isStopped = false;
  /** Only while there is a session: there may be thousands without. */
  #stop: AbortController | undefined;
  /** Wakes it from the pause after an error. */
  #changed: AbortController | undefined;

  /** `caughtUp`: undefined unless its row says so. */
  constructor(ports: EndpointPorts, webhook: Webhook, caughtUp: CaughtUp | undefined) {
    this.#ports = ports;
    this.#webhook = webhook;
    this.#eventTypes = filterTypes(webhook);
    this.#after = caughtUp?.position;
    this.#handled = caughtUp?.handled ?? -1;
    if (caughtUp) this.#join();
    if (caughtUp === undefined || this.#hasRequests) this.#activate();
  }

  get webhook(): Webhook {
    return this.#webhook;
  }

  get eventTypes(): ReadonlySet<string> {
    return this.#eventTypes;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get offeredTo(): Position {
    return this.#offeredTo ?? this.#ports.liveEvents.position ?? 0;
  }

  get position(): Position {
    const last = this.#session?.followed ?? this.#offered.at(-1)?.event.position ?? this.#after ?? 0;
    return this.#isLive ? Math.max(last, this.offeredTo) : last;
  }

  /** When `tick` has something to do, on the monotonic clock. */
  get dueAt(): number {
    if (this.#state?.at.retryFailedAfter !== undefined) return Number.NEGATIVE_INFINITY;
    return this.#session?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /**
   * The place up to which the position of its shard may be saved, because its own row does not yet say that it is behind that;
   * infinite if there is no such limit.
   */
  get limit(): Position {
    if (this.#failure) return Number.NEGATIVE_INFINITY;
    const [oldest] = this.#session === undefined ? this.#offered : [];
    return oldest?.before ?? Number.POSITIVE_INFINITY;
  }

  offer(event: RecordedEvent, change: ReportedChange, before: Position): boolean {
    if (this.#session) return this.#session.offer(event, change, before);
    if (this.#offered.length >= WINDOW) return false;
    this.#offered.push({ event, change, before });
    this.#activate();
    return true;
  }

  leftBehind(): void {
    const { position } = this;
    this.#isLive = false;
    this.#after = this.#offered[0]?.before ?? position;
    this.#offered = [];
    this.#session?.leftBehind(position);
    this.#activate();
  }

  /** Has the live events after a position offered, unless they are beyond it. */
  join(position: Position): boolean {
    const { liveEvents } = this.#ports;
    if (this.#isStopped || (liveEvents.position ?? 0) > position) return false;
    this.#join();
    return true;
  }

  /** Continues with another version of the webhook. */
  update(webhook: Webhook): void {
    const isOther = sessionKey(webhook) !== sessionKey(this.#webhook);
    this.#webhook = webhook;
    this.#changed?.abort();
    if (isOther) {
      if (this.#isLive) this.#leave();
      this.#eventTypes = filterTypes(webhook);
      this.#session?.end();
    } else if (this.#session) {
      this.#session.update(webhook);
      this.#handleRequests();
    } else if (this.#hasRequests) {
      this.#activate();
    }
  }

  /** Begins what is due by now. */
  tick(): void {
    this.#session?.tick();
    if (this.#state?.at.retryFailedAfter !== undefined) this.#handleRequests();
  }

  /** Whether it has a session, or is about to. */
  get isActive(): boolean {
    return this.#working !== undefined;
  }

  /** Saves what has changed, and ends a session for which nothing is left to do. Rejects with `unavailable`. */
  async flush(): Promise<void> {
    const session = this.#session;
    await session?.flush();
    await this.#handling;
    if (session === undefined || session !== this.#session || !(await session.finish())) return;
    this.#after = session.followed;
    this.#session = undefined;
    this.#state = undefined;
  }

  /**
   * Ends the delivery. With `isLive`, its row may say afterwards that it has everything up to the position of its shard; otherwise
   * only what it has now. Rejects if that cannot be saved; it can be called again.
   */
  end(isLive: boolean): Promise<void> {
    this.#ended ??= this.#end(isLive).catch((error) => {
      this.#ended = undefined;
      throw error;
    });
    return this.#ended;
  }

  async #end(isLive: boolean): Promise<void> {
    this.#offeredTo ??= this.offeredTo;
    this.#ports.liveEvents.delete(this);
    const isStored = isLive ? this.#working === undefined : this.#session !== undefined;
    if (!isLive) this.#isLive = false;
    this.#isStopped = true;
    this.#stop?.abort();
    await this.#working;
    if (isStored && this.#failure === undefined) return;
    if (isLive && this.#failure) throw this.#failure.error;
    // Opening the state makes its row say how far it has got, whatever the position of its shard.
    if (!isLive) await DeliveryState.open(this.#ports, this.#webhook);
    this.#failure = undefined;
  }

  get #hasRequests(): boolean {
    return this.#webhook.requests.some(({ revision }) => revision > this.#handled);
  }

  /** Subscribes with its own position, from which on it is that of the live events. */
  #join(): void {
    this.#ports.liveEvents.add(this);
    this.#isLive = true;
  }

  #leave(): void {
    this.#ports.liveEvents.delete(this);
    this.leftBehind();
  }

  /** Begins a session, unless there is one. */
  #activate(): void {
    if (this.#working || this.#isStopped) return;
    this.#stop = new AbortController();
    this.#working = this.#work(this.#stop.signal).finally(() => {
      this.#working = undefined;
      this.#stop = undefined;
      if (this.#offered.length > 0) this.#activate();
    });
    this.#ports.onActive(this);
  }

  /** Continues until a session has ended with nothing left to do, or until the end. */
  async #work(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (await this.#deliver(signal)) return;
        failures = 0;
        this.#failure = { error: unavailable('state store') };
      } catch (error) {
        this.#ports.onDelay(this.#webhook.id, error);
        failures += 1;
        this.#failure = { error };
      }
      if (this.#isLive) this.#leave();
      this.#after = undefined;
      this.#changed = new AbortController();
      const pauseMs = failures === 0 ? RETRY_MS : Math.min(RETRY_MS * 2 ** failures, RETRY_MOST_MS);
      await pause(pauseMs, AbortSignal.any([signal, this.#changed.signal]));
    }
  }

  /** Resolves with whether nothing is left to do; otherwise the state has to be opened again. */
  async #deliver(signal: AbortSignal): Promise<boolean> {
    const { opening } = this.#ports;
    await opening.wait();
    let state: DeliveryState | undefined;
    try {
      if (signal.aborted) return true;
      state = await DeliveryState.open(this.#ports, this.#webhook);
    } finally {
      opening.give();
    }
    if (state === undefined) return false;
    this.#failure = undefined;
    this.#state = state;
    try {
      while (!signal.aborted) {
        const isOurs = (await this.#canSign(state))
          ? await this.#runSession(state, signal)
          : await this.#waitForSecret(state, signal);
        if (!isOurs) return false;
        if (this.#state === undefined) return true;
      }
      return true;
    } finally {
      this.#state = undefined;
      this.#session = undefined;
    }
  }

  /** Resolves with false when the state has to be opened again. */
  async #runSession(state: DeliveryState, signal: AbortSignal): Promise<boolean> {
    const { at, isStored, waiting } = state;
    // What was offered continues where a state has caught up, as was assumed.
    const continues = isStored && at.position === at.followed && waiting.size === 0;
    if (this.#isLive && !continues) this.#leave();
    const place = this.#offered[0]?.before ?? (this.#isLive ? this.position : this.#after);
    const followed = continues ? Math.max(at.position, place ?? 0) : at.position;
    const session = new DeliverySession(this.#ports, state, this.#webhook, this, followed);
    this.#session = session;
    this.#rewind = undefined;
    const offered = this.#offered;
    this.#offered = [];
    for (const { event, change, before } of offered) session.offer(event, change, before);
    this.#handleRequests();
    const isOurs = await session.run(signal);
    this.#session = undefined;
    await this.#handling;
    if (!isOurs || this.#rewind === undefined) return isOurs;
    const { after = 0, revision } = this.#rewind;
    await state.rewind(after);
    this.#handledUpTo(revision, state);
    return state.save();
  }

  /** Whether the secret can be opened: nothing is sent without a signature. */
  async #canSign(state: DeliveryState): Promise<boolean> {
    const { secretsKeys, clock, onDelay } = this.#ports;
    try {
      await openSecrets(secretsKeys, this.#webhook, clock.now());
      delete state.at.problem;
      return true;
    } catch (error) {
      onDelay(this.#webhook.id, error);
      return false;
    }
  }

  /** Resolves with false when the state has to be opened again. */
  async #waitForSecret(state: DeliveryState, signal: AbortSignal): Promise<boolean> {
    if (this.#isLive) this.#leave();
    state.at.problem = 'secret_unreadable';
    if (state.changed && !(await state.save())) return false;
    await pause(SECRET_CHECK_MS, signal);
    return true;
  }

  /** Handles what is requested, one after the other. */
  #handleRequests(): void {
    const session = this.#session;
    const state = this.#state;
    if (session === undefined || state === undefined) return;
    const work = async () => {
      for (const request of this.#webhook.requests) {
        if (this.#rewind === undefined && request.revision > state.at.handled)
          await this.#handle(request, session, state);
      }
      await this.#retryFailed(state);
      this.#handledUpTo(state.at.handled, state);
    };
    this.#handling = (this.#handling ?? Promise.resolve()).then(work).catch((error) => {
      this.#ports.onDelay(this.#webhook.id, error);
    });
  }

  #handledUpTo(revision: number, state: DeliveryState): void {
    state.at.handled = revision;
    this.#handled = revision;
  }

  async #handle(request: WebhookRequest, session: DeliverySession, state: DeliveryState): Promise<void> {
    const { after, messageId, failed, revision, kind } = request;
    if (after !== undefined && after < session.followed) {
      this.#rewind = request;
      if (this.#isLive) this.#leave();
      return session.end();
    }
    if (messageId !== undefined) await this.#repeat(messageId, state);
    if (failed) state.at.retryFailedAfter = -1;
    if (kind === 'retry') session.retryAll();
    if (kind === 'ping') session.ping(request);
    state.at.handled = revision;
    session.changed();
  }

  /** Sends one message once more, if it is known. */
  async #repeat(messageId: string, state: DeliveryState): Promise<void> {
    const { id } = this.#webhook;
    const event = await findMessage(this.#ports.stateStore, id, messageId);
    if (event === undefined) return;
    const { stream, revision: next } = event;
    const found = await this.#ports.eventLog.readStream(stream, { from: next, limit: 1 }).catch(asUnreadable);
    const recorded = found instanceof UnreadableError ? undefined : found[0];
    if (recorded === undefined) return;
    this.#sendOnce(event, recorded.position, Date.parse(recorded.recordedAt), state);
  }

  /** Queues a message for another attempt, which is due at once, regardless of other messages of its record. */
  #sendOnce(
    { stream, revision: next }: MessageEvent,
    position: Position,
    since: number,
    state: DeliveryState,
  ): void {
    const due = this.#ports.clock.elapsed();
    state.wait({
      ...{ stream, next, last: next, once: true, position, before: position, since },
      ...{ tries: 0, step: 0, woken: false, tried: due, due, delayMs: 0 },
      triedVersion: this.#webhook.version,
    });
  }

  /** Queues the next failed messages for another attempt, when that was asked for and there is room. */
  async #retryFailed(state: DeliveryState): Promise<void> {
    const { at, waiting } = state;
    if (at.retryFailedAfter === undefined || waiting.size + FAILED_PAGE > MAX_WAITING) return;
    const page = await state.failed(at.retryFailedAfter, FAILED_PAGE);
    for (const failed of page) this.#sendOnce(failed, failed.position, this.#ports.clock.now(), state);
    const last = page.at(-1);
    if (last && page.length === FAILED_PAGE) at.retryFailedAfter = last.position;
    else delete at.retryFailedAfter;
    this.#session?.changed();
  }
}
