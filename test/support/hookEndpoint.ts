import type { ServerResponse } from 'node:http';
import { freePort } from './freePort.ts';
import { Receiver } from './receiver.ts';

/** A message that an endpoint got. */
export interface HookMessage {
  /** `webhook-id`. */
  id: string;
  /** The record, `{kind}/{id}`; undefined for a ping. */
  subject: string | undefined;
  version: number;
  type: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** A status, perhaps with headers; 200 after a while; or no answer at all: the connection is left open, or torn. */
export type HookAnswer =
  | number
  | { status: number; headers: Record<string, string> }
  | 'slow'
  | 'hang'
  | 'tear';

const SLOW_MS = 250;

/** A webhook's endpoint of the test's own, which answers as it is told to and may be away. */
export class HookEndpoint {
  /** All that came, also what was not accepted. */
  readonly received: HookMessage[] = [];
  /** What was answered with 200. */
  readonly accepted: HookMessage[] = [];
  answer: (message: HookMessage) => HookAnswer = () => 200;
  #receiver: Receiver | undefined;
  #port = 0;

  static async open(): Promise<HookEndpoint> {
    const endpoint = new HookEndpoint();
    await endpoint.up();
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  /** Listens, always on the same port. */
  async up(): Promise<void> {
    this.#port ||= await freePort();
    this.#receiver = await Receiver.listen((_req, res) => this.#take(res), { port: this.#port });
  }

  /** Tears all connections and takes no more. */
  async down(): Promise<void> {
    await this.#receiver?.close();
    this.#receiver = undefined;
  }

  /** The versions of each record in the order in which they were accepted for the first time. */
  versions(): Map<string, number[]> {
    const versions = new Map<string, number[]>();
    const seen = new Set<string>();
    for (const { id, subject = '', version } of this.accepted) {
      if (seen.has(id)) continue;
      seen.add(id);
      versions.set(subject, [...(versions.get(subject) ?? []), version]);
    }
    return versions;
  }

  #take(res: ServerResponse): void {
    const received = this.#receiver?.received.pop();
    if (received === undefined) throw new Error('nothing came');
    const { headers, body } = received;
    const { subject, type, data } = JSON.parse(body);
    const message = {
      id: String(headers['webhook-id']),
      subject,
      version: data?.version,
      type,
      headers,
      body,
    };
    this.received.push(message);
    const answer = this.answer(message);
    if (answer === 'hang') return;
    if (answer === 'tear') {
      res.destroy();
      return;
    }
    const { status, headers: more = {} } =
      typeof answer === 'object' ? answer : { status: Number(answer) || 200 };
    if (status === 200) this.accepted.push(message);
    const end = () => res.writeHead(status, more).end(`answered ${status}`);
    if (answer === 'slow') setTimeout(end, SLOW_MS);
    else end();
  }
}
