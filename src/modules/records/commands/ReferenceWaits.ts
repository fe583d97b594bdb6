import type { Caller } from '../../../domain/events/newEvent.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { FairBudget, WORKSPACE_AND_KEY } from '../../../platform/threads/FairBudget.ts';
import type { RecordExistence } from './RecordExistence.ts';

/** Maximum number of requests waiting at once, each with a body of up to 1 MB. One key may have 100. */
const MAX_WAITING = 300;
/** How often to check whether another process wrote a missing record. */
const LOOK_MS = 1_000;
const RETRY_AFTER_SECONDS = 2;

/** How long a request waits for the records that it refers to, and the signal that ends the wait early. */
export interface ReferenceWait {
  ms: number;
  signal: AbortSignal;
}

/** Who waits. */
export type WaitingCaller = Pick<Caller, 'workspace' | 'principal'>;

/** Lets a limited number of requests wait for records that do not exist yet. */
export class ReferenceWaits {
  readonly #existence: RecordExistence;
  readonly #closing = new AbortController();
  readonly #waiting = new FairBudget(MAX_WAITING, WORKSPACE_AND_KEY);

  constructor(existence: RecordExistence) {
    this.#existence = existence;
  }

  /**
   * Resolves when the records of these streams exist, or the time is up. Rejects with `overloaded` when too many requests are
   * already waiting, in all or of this caller, and with `unavailable`, also when the service stops before that: what is awaited may reach another one.
   */
  async arrived(
    { workspace, principal }: WaitingCaller,
    streams: string[],
    { ms, signal }: ReferenceWait,
  ): Promise<void> {
    let missing = await this.#existence.missing(streams);
    if (missing.size === 0) return;
    const place = this.#waiting.share([workspace, principal.id]);
    if (!place.take(1)) throw tooManyWaiting();
    const end = AbortSignal.any([signal, this.#closing.signal, AbortSignal.timeout(ms)]);
    try {
      while (missing.size > 0 && !end.aborted) {
        await this.#existence.remembered(missing, LOOK_MS, end);
        missing = await this.#existence.missing(streams);
      }
    } finally {
      place.giveAll();
    }
    if (missing.size > 0 && this.#closing.signal.aborted) throw unavailable('service');
  }

  /** Ends all current and future waits. */
  close(): void {
    this.#closing.abort();
  }
}

function tooManyWaiting(): ServiceError {
  return new ServiceError(
    'overloaded',
    'Too many requests are waiting for referenced records. Try again in a moment.',
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );
}
