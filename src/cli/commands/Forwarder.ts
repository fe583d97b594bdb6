import { setTimeout as sleep } from 'node:timers/promises';
import type { Attempt } from '../../modules/webhooks/attempt.ts';
import { signMessage } from '../../modules/webhooks/signMessage.ts';
import type { WebhookSender } from '../../modules/webhooks/WebhookSender.ts';
import type { WebhookMessage } from '../../modules/webhooks/webhookMessage.ts';
import { CommandError } from '../lib/CommandError.ts';

/** How often, and for how long, to try a message. */
export interface ForwardRetries {
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

export interface ForwarderOptions {
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
