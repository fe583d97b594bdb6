import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import type { Client, TestResponse } from './client.ts';
import { eventually } from './eventually.ts';

/** The events of a page. */
export function eventsOf({ text }: TestResponse): CloudEvent[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const AGAIN_MS = 100;

/** A reader of server-sent events, which collects what it is sent until it is closed. */
export class EventReader {
  readonly events: CloudEvent[] = [];
  /** Lines that begin with a colon. */
  comments = 0;
  /** As a browser keeps it: by any `id`, also one without data. */
  lastEventId: string | undefined;
  response: IncomingMessage | undefined;
  /** True when the service ended the stream, or the connection broke. */
  ended = false;
  readonly #client: Client;
  readonly #path: string;
  #outgoing: ClientRequest;
  #killed = false;
  #rest = '';

  constructor(client: Client, path = '/events', headers: Record<string, string> = {}) {
    this.#client = client;
    this.#path = path;
    this.#outgoing = this.#connect(headers);
  }

  /** Opens one and waits until it is answered. */
  static async open(client: Client, path?: string, headers?: Record<string, string>): Promise<EventReader> {
    const reader = new EventReader(client, path, headers);
    await eventually(() => {
      if (reader.response === undefined) throw new Error('no answer yet');
    });
    return reader;
  }

  /** Waits until it has so many events. */
  async count(count: number, timeoutMs?: number): Promise<CloudEvent[]> {
    await eventually(() => {
      if (this.events.length < count) throw new Error(`${this.events.length} events, not ${count}`);
    }, timeoutMs);
    return this.events;
  }

  /** Waits until the service has ended it. */
  end(): Promise<void> {
    return eventually(() => {
      if (!this.ended) throw new Error('the stream goes on');
    });
  }

  /** From now on connects again where a stream ended, as a browser does: a service that is busy may end it. */
  comesBack(): this {
    const again = () => {
      if (this.#killed) return;
      this.#outgoing = this.#connect(this.lastEventId ? { 'last-event-id': this.lastEventId } : {});
      this.#outgoing.once('close', () => setTimeout(again, AGAIN_MS));
    };
    this.#outgoing.once('close', again);
    return this;
  }

  /** Breaks the connection off, as a reader that is killed does. */
  kill(): void {
    this.#killed = true;
    this.#outgoing.destroy();
  }

  #connect(headers: Record<string, string>): ClientRequest {
    const { hostname, port } = new URL(this.#client.url);
    const key = { 'x-api-key': this.#client.key ?? '', accept: 'text/event-stream' };
    const options = { hostname, port, path: this.#path, headers: { ...key, ...headers }, agent: false };
    this.#rest = '';
    const outgoing = request(options, (response) => {
      this.response = response;
      response.setEncoding('utf8');
      response.on('data', (text: string) => this.#take(text));
      response.on('error', () => undefined);
      response.on('close', () => {
        this.ended = true;
      });
    });
    outgoing.on('error', () => {
      this.ended = true;
    });
    return outgoing.end();
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() as string;
    for (const block of blocks) {
      for (const line of block.split('\n')) {
        const [, field, value] = /^([^:]*): ?(.*)$/.exec(line) as unknown as [string, string, string];
        if (field === '') this.comments += 1;
        if (field === 'id') this.lastEventId = value;
        if (field === 'data') this.events.push(JSON.parse(value));
      }
    }
  }
}
