import { setTimeout as sleep } from 'node:timers/promises';
import { signMessage } from '../../webhooks/delivery/signMessage.ts';
import type { Attempt, WebhookSender } from '../../webhooks/delivery/WebhookSender.ts';
import type { WebhookMessage } from '../../webhooks/delivery/webhookMessage.ts';
import { CommandError } from '../CommandError.ts';

/** How often, and for how long, a message is tried. */
export interface ForwardRetries {
  /** For so long a target that is away is tried again. */
  awayMs: number;
  firstDelayMs: number;
  /** The delay doubles up to here. */
  maxDelayMs: number;
  /** Tries of a message that the target answers, but does not accept. */
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
  /** Told once of a target that is away. */
  onAway(error: string): void;
  retries?: ForwardRetries;
}

/** What came of a message. */
export interface Forwarded {
  /** Of the last try. */
  attempt: Attempt;
  /** Tries that the target answered. */
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
   * Sends a message: a target that is away is tried again for five minutes, one that does not accept it three times. Rejects with
   * `CommandError` when the target stays away, and with an `AbortError` at the signal.
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

/** Whether nobody is there to answer. One that answers late, or with no HTTP, is there. */
function isAway({ error }: Attempt): boolean {
  return error === 'connection' || error === 'dns' || error === 'tls' || error === 'refused_address';
}
