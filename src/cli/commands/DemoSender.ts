import { ServiceError, unavailable } from '../../platform/errors.ts';
import type { DemoRequest } from './demoRequests.ts';

const AT_ONCE = 8;
const TIMEOUT_MS = 60_000;

/** Counts of what was sent. */
export interface DemoCounts {
  records: number;
  documents: number;
  refused: number;
}

/** Sends requests to a running service. An unexpected response rejects with `conflict`. */
export class DemoSender {
  readonly #url: string;
  readonly #key: string;
  readonly counts: DemoCounts = { records: 0, documents: 0, refused: 0 };

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Sends all requests of a group, several at once: they concern different records. */
  async sendGroup(requests: readonly DemoRequest[]): Promise<void> {
    const left = requests.values();
    const work = async () => {
      for (const request of left) await this.#send(request);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** Creates a webhook that sends nothing yet: nobody listens at its address. */
  async createWebhook(url: string): Promise<void> {
    const description = 'Made-up receiver: enable it with an address of your own';
    const made = await this.#fetch('POST', '/integration/webhooks', jsonBody({ url, description }));
    const { id } = (await made.json()) as { id: string };
    await this.#fetch('PATCH', `/integration/webhooks/${id}`, jsonBody({ state: 'disabled' }));
  }

  /** Whether the workspace has a webhook for an address. */
  async hasWebhook(url: string): Promise<boolean> {
    const listed = (await (await this.#fetch('GET', '/integration/webhooks')).json()) as {
      items: { url: string }[];
    };
    return listed.items.some((webhook) => webhook.url === url);
  }

  async #send(request: DemoRequest): Promise<void> {
    if (request.send === 'document') {
      const { encounterId, documentId, category, pdf } = request;
      const body = new FormData();
      body.set('document_id', documentId);
      body.set('category', category);
      body.set('file', new Blob([pdf], { type: 'application/pdf' }), `${category}.pdf`);
      await this.#fetch('POST', `/integration/encounters/${encounterId}/documents`, { body });
      this.counts.documents += 1;
      return;
    }
    const { plural, record, refused } = request;
    await this.#fetch('POST', `/integration/${plural}`, jsonBody(record), refused ? 400 : 200);
    this.counts[refused ? 'refused' : 'records'] += 1;
  }

  async #fetch(method: string, path: string, init: RequestInit = {}, expected = 200): Promise<Response> {
    let answer: Response;
    try {
      const headers = { 'x-api-key': this.#key, 'user-agent': 'chartledger-demo', ...init.headers };
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      answer = await fetch(this.#url + path, { ...init, method, headers, signal });
    } catch (error) {
      throw unavailable(
        'service',
        error,
        `No service responds at ${this.#url}. Start it, or specify its address with --url.`,
      );
    }
    if (answer.status === expected) return answer;
    const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
    throw new ServiceError(
      'conflict',
      `The service at ${this.#url} answered ${answer.status}: ${error ?? 'no reason'}`,
    );
  }
}

function jsonBody(body: unknown): RequestInit {
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}
