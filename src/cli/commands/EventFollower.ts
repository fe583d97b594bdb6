import { setTimeout as sleep } from 'node:timers/promises';
import { terminal } from '../../server/terminal.ts';
import { ServiceAway, type ServiceClient } from '../lib/ServiceClient.ts';
import { serverSentEvents } from './serverSentEvents.ts';

/** The service sends something every 15 seconds: a connection that is silent for this long is dead. */
const SILENCE_MS = 60_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** After every possible event, and in every view: everything before it is skipped. */
const FAR_FUTURE = '9999-01-01';

/** Which events are wanted. */
export interface WantedEvents {
  /** `now`, `start`, or the position after which to begin. */
  from: string;
  /** Separated by commas; undefined for all. */
  types?: string | undefined;
  view?: 'full' | 'deidentified' | undefined;
}

/** An event of the stream. */
export interface StreamedEvent {
  position: string;
  /** The CloudEvent, as received. */
  json: string;
}

/** Follows the event stream of a service. */
export class EventFollower {
  readonly #client: ServiceClient;
  readonly #wanted: WantedEvents;
  #position: string | undefined;

  constructor(client: ServiceClient, wanted: WantedEvents) {
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
    const { from, ...selection } = this.#wanted;
    this.#position ??= from === 'now' ? await this.#end(selection) : from === 'start' ? '0' : from;
    return this.#position;
  }

  async #end(selection: Omit<WantedEvents, 'from'>): Promise<string> {
    const query = { ...selection, from: FAR_FUTURE, limit: 1 };
    const page = await this.#client.get('/events', { query, accept: 'application/x-ndjson' });
    await this.#client.textOf(page);
    return page.headers.get('chartledger-position') ?? '0';
  }

  /** Reads from one connection; rejects with `ServiceAway` when it is lost, and as `ServiceClient.get` does. */
  async *#connection(after: string, signal: AbortSignal) {
    const { from: _, ...selection } = this.#wanted;
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
