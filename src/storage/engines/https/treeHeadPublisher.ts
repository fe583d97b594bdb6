import { unavailable } from '../../../platform/errors.ts';
import type { TreeHeadPublisher } from '../../targets.ts';

const LIMIT_MS = 10_000;

/** Heads as the bodies of POST requests to an address, which accepts one by answering with 2xx. */
export class HttpsTreeHeadPublisher implements TreeHeadPublisher {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** What follows the host may be secret. */
  get place(): string {
    return new URL(this.#url).origin;
  }

  async write(name: string, text: string): Promise<void> {
    const { host } = new URL(this.#url);
    const failed = (problem: string, error?: unknown) => unavailable('target of heads', error, problem);
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': name },
      body: text,
      redirect: 'manual',
      signal: AbortSignal.timeout(LIMIT_MS),
    }).catch((error) => {
      throw failed(`${host} does not answer, or its certificate is not accepted.`, error);
    });
    await response.body?.cancel().catch(() => undefined);
    if (!response.ok) throw failed(`${host} answered with ${response.status} instead of 200.`);
  }
}
