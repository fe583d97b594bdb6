import type { Position } from '../../domain/events/event.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import { pause } from '../../platform/retry.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type Leases, runAsLeader } from '../../storage/leases.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { findMessage, type MessageEvent, pruneAttempts } from './attempts.ts';
import type { SessionPorts } from './retries.ts';
import { openSecrets } from './secrets.ts';
import { DeliverySession, MAX_WAITING } from './session.ts';
import { DeliveryState, type DeliveryStatePorts } from './sessionState.ts';
import { dropEarlierModels, removeDelivery } from './store.ts';
import { filterTypes, type Webhook, type WebhookDirectory, type WebhookRequest } from './webhook.ts';

interface EndpointPorts extends SessionPorts, DeliveryStatePorts {
  eventLog: EventLog;
  /** Returns the webhook as of now, while its messages may be sent; undefined as long as they may not. */
  findSending(webhookId: string): Webhook | undefined;
}

/** Failed messages queued for another attempt together. */
const FAILED_PAGE = 200;
/** How often a webhook that cannot be sent to is checked. */
const ENDPOINT_CHECK_MS = 250;

/**
 * Delivers a webhook's messages and handles its requests, for as long as messages may be sent and until the signal.
 * The caller holds its lease, and calls again when this ends or rejects, as it does when a store cannot be reached.
 */
async function deliverEndpoint(ports: EndpointPorts, id: string, signal: AbortSignal): Promise<void> {
  const found = ports.findSending(id);
  if (found === undefined) return;
  const state = await DeliveryState.open(ports, found);
  if (state === undefined) return;
  while (!signal.aborted) {
    const webhook = ports.findSending(id);
    if (webhook === undefined) return;
    if (!(await canSign(ports, webhook))) {
      state.at.problem = 'secret_unreadable';
      if (state.changed && !(await state.save())) return;
      await pause(ENDPOINT_CHECK_MS, signal);
      continue;
    }
    delete state.at.problem;
    const endpoint = new EndpointDelivery(ports, state, webhook);
    if (!(await endpoint.run(signal))) return;
  }
}

/** Returns a key for what is sent of which events: a webhook for which that changes begins a new session. */
function sessionKey(webhook: Webhook): string {
  return [webhook.payload, webhook.unchanged, ...filterTypes(webhook)].join();
}

/** Whether its secret can be opened: nothing is sent without a signature. */
async function canSign(ports: EndpointPorts, webhook: Webhook): Promise<boolean> {
  try {
    await openSecrets(ports.secretsKeys, webhook, ports.clock.now());
    return true;
  } catch (error) {
    ports.onDelay(webhook.id, error);
    return false;
  }
}

/** A session, and how a webhook's changes and requests affect it. */
class EndpointDelivery {
  readonly #ports: EndpointPorts;
  readonly #state: DeliveryState;
  readonly #session: DeliverySession;
  readonly #wanted: string;
  #webhook: Webhook;
  #rewind: WebhookRequest | undefined;

  constructor(ports: EndpointPorts, state: DeliveryState, webhook: Webhook) {
    this.#ports = ports;
    this.#state = state;
    this.#webhook = webhook;
    this.#wanted = sessionKey(webhook);
    this.#session = new DeliverySession(ports, state, webhook);
  }

  /** False when the state has to be opened anew. */
  async run(signal: AbortSignal): Promise<boolean> {
    const isOurs = await this.#session.run(signal, () => this.#tick());
    if (!isOurs || this.#rewind === undefined) return isOurs;
    const { after = 0, revision } = this.#rewind;
    await this.#state.rewind(after);
    this.#state.at.handled = revision;
    return this.#state.save();
  }

  async #tick(): Promise<void> {
    const webhook = this.#ports.findSending(this.#webhook.id);
    if (webhook === undefined || sessionKey(webhook) !== this.#wanted) {
      return this.#session.end();
    }
    this.#webhook = webhook;
    this.#session.update(webhook);
    for (const request of webhook.requests) {
      if (this.#rewind === undefined && request.revision > this.#state.at.handled) {
        await this.#handle(request);
      }
    }
    await this.#retryFailed();
  }

  async #handle(request: WebhookRequest): Promise<void> {
    const { after, messageId, failed, revision } = request;
    if (after !== undefined && after < this.#session.followed) {
      this.#rewind = request;
      return this.#session.end();
    }
    if (messageId !== undefined) await this.#repeat(messageId);
    if (failed) this.#state.at.retryFailedAfter = -1;
    if (request.kind === 'retry') this.#session.retryAll();
    if (request.kind === 'ping') this.#session.ping(request);
    this.#state.at.handled = revision;
  }

  /** Sends one message once more, if it is known. */
  async #repeat(messageId: string): Promise<void> {
    const { id } = this.#webhook;
    const event = await findMessage(this.#ports.stateStore, id, messageId);
    if (event === undefined) return;
    const { stream, revision: next } = event;
    const found = await this.#ports.eventLog.readStream(stream, { from: next, limit: 1 }).catch(asUnreadable);
    const recorded = found instanceof UnreadableError ? undefined : found[0];
    if (recorded === undefined) return;
    this.#sendOnce(event, recorded.position, Date.parse(recorded.recordedAt));
  }

  /** Queues a message for another attempt, which is due at once, regardless of other messages of its record. */
  #sendOnce({ stream, revision: next }: MessageEvent, position: Position, since: number): void {
    const due = this.#ports.clock.elapsed();
    this.#state.wait({
      ...{ stream, next, last: next, once: true, position, before: position, since },
      ...{ tries: 0, step: 0, woken: false, tried: due, due, delayMs: 0 },
      triedVersion: this.#webhook.version,
    });
  }

  /** Queues the next failed messages for another attempt, when that was asked for and there is room. */
  async #retryFailed(): Promise<void> {
    const { at, waiting } = this.#state;
    if (at.retryFailedAfter === undefined || waiting.size + FAILED_PAGE > MAX_WAITING) return;
    const page = await this.#state.failed(at.retryFailedAfter, FAILED_PAGE);
    for (const failed of page) this.#sendOnce(failed, failed.position, this.#ports.clock.now());
    const last = page.at(-1);
    if (last && page.length === FAILED_PAGE) at.retryFailedAfter = last.position;
    else delete at.retryFailedAfter;
  }
}

interface DispatcherPorts extends EndpointPorts {
  leases: Leases;
  readModels: Pick<ReadModels, 'load' | 'page' | 'drop'>;
  directory: Pick<WebhookDirectory, 'all'>;
}

/** How often to look for webhooks whose messages may now be sent, or no longer, and for what was erased. */
const POLL_MS = 250;
const RETRY_MS = 250;
const RETRY_MOST_MS = 5_000;
const CLEAN_EVERY_MS = 3_600_000;
/** How long an instance waits before it asks for a free webhook: the more it has, the longer it waits. */
const ASK_MS = 300;
const ASK_MORE_MS = 100;
const ASK_MOST_MS = 1_500;

/** The lease of the one instance that cleans up. */
const CLEANING_LEASE = 'webhooks';

/**
 * Delivers the messages of all webhooks whose leases this instance obtains, until the signal. Instances that start
 * together get about the same number each; when one is gone, the others take over its webhooks.
 */
export class Dispatcher {
  readonly #ports: DispatcherPorts;
  readonly #owner: string;
  /** By webhook id: ends the delivery, or the wait for its lease. */
  readonly #running = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();
  #held = 0;

  /** `owner` is a name that no other instance has. */
  constructor(ports: DispatcherPorts, owner: string) {
    this.#ports = ports;
    this.#owner = owner;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { leases } = this.#ports;
    const cleaning = runAsLeader(leases, CLEANING_LEASE, this.#owner, signal, (leading) =>
      this.#repeat('', CLEAN_EVERY_MS, leading, () => this.#clean()),
    );
    const looking = this.#repeat('', POLL_MS, signal, () => this.#ports.erased.refresh());
    for (; !signal.aborted; await pause(POLL_MS, signal)) {
      for (const { id } of this.#ports.directory.all()) {
        const running = this.#running.get(id);
        if (this.#ports.findSending(id) === undefined) running?.abort();
        else if (!running) this.#start(id, signal);
      }
    }
    await Promise.all([cleaning, looking, ...this.#tasks]);
  }

  #start(id: string, signal: AbortSignal): void {
    const stop = new AbortController();
    this.#running.set(id, stop);
    const end = () => stop.abort();
    signal.addEventListener('abort', end, { once: true });
    const task = this.#deliver(id, stop.signal).finally(() => {
      signal.removeEventListener('abort', end);
      this.#running.delete(id);
      this.#tasks.delete(task);
    });
    this.#tasks.add(task);
  }

  async #deliver(id: string, signal: AbortSignal): Promise<void> {
    await pause(this.#askMs(), signal);
    const work = async (leading: AbortSignal) => {
      this.#held += 1;
      await this.#repeat(id, RETRY_MS, leading, () => deliverEndpoint(this.#ports, id, leading));
      this.#held -= 1;
    };
    await runAsLeader(this.#ports.leases, `webhook:${id}`, this.#owner, signal, work, () => this.#askMs());
  }

  /** Random, so that instances that start together do not ask at the same time. */
  #askMs(): number {
    return Math.min(ASK_MS + this.#held * ASK_MORE_MS, ASK_MOST_MS) * (0.5 + Math.random());
  }

  async #clean(): Promise<void> {
    const { stateStore, readModels, clock, directory } = this.#ports;
    await pruneAttempts(stateStore, clock.now());
    const deleted = directory.all().filter(({ state }) => state === 'deleted');
    await removeDelivery(
      stateStore,
      deleted.map(({ id }) => id),
    );
    const others = directory.all().filter(({ state }) => state !== 'deleted');
    await dropEarlierModels(
      readModels,
      stateStore,
      others.map(({ id }) => id),
    );
  }

  async #repeat(id: string, pauseMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        await work();
        failures = 0;
      } catch (error) {
        this.#ports.onDelay(id, error);
        failures += 1;
      }
      await pause(failures === 0 ? pauseMs : Math.min(RETRY_MS * 2 ** failures, RETRY_MOST_MS), signal);
    }
  }
}

/** What the thread that delivers webhooks reports to the service, for its log. */
export type WebhooksMessage =
  | { kind: 'delayed'; webhookId: string; error: Record<string, unknown> }
  | { kind: 'state_lost'; webhookId: string }
  | { kind: 'unreadable'; webhookId: string; eventId: string; position: number };
