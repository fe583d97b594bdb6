import { setTimeout as sleep } from 'node:timers/promises';
import type { EventView } from '../../modules/eventStream/cloudEvents.ts';
import type { Attempt } from '../../modules/webhooks/attempts.ts';
import { signMessage, type WebhookMessage } from '../../modules/webhooks/messages.ts';
import type { WebhookSender } from '../../modules/webhooks/sender.ts';
import { terminal } from '../../server/terminal.ts';
import { ServiceAway, type ServiceClient } from '../lib/client.ts';
import { CommandError } from '../lib/terminal.ts';

/** A frame of a stream of server-sent events: an event, or a place without one. */
interface ServerSentEvent {
  id: string | undefined;
  data: string | undefined;
}

/**
 * Yields the frames of a stream of server-sent events (WHATWG HTML, section 9.2), each with at most one line of data; comments
 * are omitted.
 */
async function* serverSentEvents(texts: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  for await (const text of texts) {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop() as string;
    for (const block of blocks) yield frameOf(block);
  }
}

function frameOf(block: string): ServerSentEvent {
  const frame: ServerSentEvent = { id: undefined, data: undefined };
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'id' || field === 'data') frame[field] = value;
  }
  return frame;
}

/** The service sends something every 15 seconds: a connection that is silent for this long is dead. */
const SILENCE_MS = 60_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** After every possible event, and in every view: everything before it is skipped. */
const FAR_FUTURE = '9999-01-01';

/** Which events are wanted. */
interface EventFilter {
  /** `now`, `start`, or the position after which to begin. */
  after: string;
  /** Separated by commas; undefined for all. */
  types?: string | undefined;
  view?: EventView | undefined;
}

/** An event of the stream. */
interface StreamedEvent {
  position: string;
  /** The CloudEvent, as received. */
  json: string;
}

/** Follows the event stream of a service. */
export class EventFollower {
  readonly #client: ServiceClient;
  readonly #wanted: EventFilter;
  #position: string | undefined;

  constructor(client: ServiceClient, wanted: EventFilter) {
    this.#client = client;
    this.#wanted = wanted;
  }

  /**
   * Yields every wanted event in order, once, until the signal: a lost connection is re-established, and continues after the last
   * event. Rejects with `CommandError` when the service refuses, or is unavailable at the beginning.
   */
  async *events(signal: AbortSignal): AsyncGenerator<StreamedEvent> {
    let position = await this.position();
    let failures = 0;
    while (!signal.aborted) {
      try {
        for await (const { id, data } of this.#connection(position, signal)) {
          if (failures > 0) terminal().stderr.write('The service is back.\n');
          failures = 0;
          position = id ?? position;
          if (data !== undefined) yield { position, json: data };
        }
        if (failures === 0) terminal().stderr.write('The connection ended; it is made again.\n');
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ServiceAway)) throw error;
        if (failures === 0) terminal().stderr.write(`${error.message} It is asked again.\n`);
      }
      failures += 1;
      const delay = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS);
      await sleep(delay, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns the position after which the events begin. Rejects as `ServiceClient.get` does. */
  async position(): Promise<string> {
    const { after, ...selection } = this.#wanted;
    this.#position ??= after === 'now' ? await this.#end(selection) : after === 'start' ? '0' : after;
    return this.#position;
  }

  async #end(selection: Omit<EventFilter, 'after'>): Promise<string> {
    const query = { ...selection, from: FAR_FUTURE, limit: 1 };
    const page = await this.#client.get('/events', { query, accept: 'application/x-ndjson' });
    await this.#client.textOf(page);
    return page.headers.get('chartledger-position') ?? '0';
  }

  /** Reads from one connection; rejects with `ServiceAway` when it is lost, and as `ServiceClient.get` does. */
  async *#connection(after: string, signal: AbortSignal) {
    const { after: _, ...selection } = this.#wanted;
    const end = new AbortController();
    const connection = AbortSignal.any([signal, end.signal]);
    try {
      const { body } = await this.#client.get('/events', {
        query: { ...selection, after },
        accept: 'text/event-stream',
        signal: connection,
      });
      if (body) yield* serverSentEvents(unlessSilent(body, end));
    } finally {
      end.abort();
    }
  }
}

/** Yields the texts of a body, which is ended when nothing arrives for long. Rejects with `ServiceAway`. */
async function* unlessSilent(body: ReadableStream<Uint8Array>, end: AbortController): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const timer = setTimeout(() => end.abort(), SILENCE_MS);
    const read = reader.read().finally(() => clearTimeout(timer));
    const { done, value } = await read.catch(() => {
      throw new ServiceAway('The connection to the service was lost.');
    });
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/** How often, and for how long, to try a message. */
interface ForwardRetries {
  /** How long to retry while a target is unavailable. */
  awayMs: number;
  firstDelayMs: number;
  /** The delay doubles up to this limit. */
  maxDelayMs: number;
  /** Number of tries for a message that the target answers, but does not accept. */
  refusals: number;
}

const defaultRetries: ForwardRetries = {
  awayMs: 300_000,
  firstDelayMs: 250,
  maxDelayMs: 5_000,
  refusals: 3,
};

interface ForwarderOptions {
  url: string;
  /** `whsec_…` */
  secret: string;
  sender: WebhookSender;
  signal: AbortSignal;
  /** Called once when a target is unavailable. */
  onAway(error: string): void;
  retries?: ForwardRetries;
}

/** The result of a message. */
export interface Forwarded {
  /** Of the last try. */
  attempt: Attempt;
  /** Number of tries that the target answered. */
  tries: number;
}

const isAccepted = ({ status = 0 }: Attempt) => status >= 200 && status < 300;

/** Sends messages to a target one after the other, signed as a webhook's are. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #retries: ForwardRetries;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#retries = options.retries ?? defaultRetries;
  }

  /**
   * Sends a message: retries for five minutes while the target is unavailable, and tries up to three times if it does not accept
   * the message. Rejects with `CommandError` when the target stays unavailable, and with an `AbortError` at the signal.
   */
  async forward(message: WebhookMessage): Promise<Forwarded> {
    const { url, secret, sender, signal, onAway } = this.#options;
    const { awayMs, refusals } = this.#retries;
    const startedAt = performance.now();
    for (let failures = 0, tries = 0; ; failures += 1) {
      const headers = signMessage(message, [secret], Date.now());
      const attempt = await sender.send(url, headers, message.body, signal);
      signal.throwIfAborted();
      if (isAway(attempt)) {
        if (performance.now() - startedAt > awayMs) {
          throw new CommandError(
            `${url} accepted nothing for ${Math.round(awayMs / 1000)} s (${attempt.error}).`,
          );
        }
        if (failures === tries) onAway(String(attempt.error));
      } else {
        tries += 1;
        if (isAccepted(attempt) || tries === refusals) return { attempt, tries };
      }
      await this.#pause(failures);
    }
  }

  #pause(failures: number): Promise<void> {
    const { firstDelayMs, maxDelayMs } = this.#retries;
    const { signal } = this.#options;
    return sleep(Math.min(firstDelayMs * 2 ** failures, maxDelayMs), undefined, { signal });
  }
}

/** Whether nobody is there to answer. A target that answers late, or not with HTTP, is there. */
function isAway({ error }: Attempt): boolean {
  return error === 'connection' || error === 'dns' || error === 'tls' || error === 'refused_address';
}
