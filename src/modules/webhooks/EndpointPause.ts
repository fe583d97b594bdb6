import type { Clock } from '../../storage/clock.ts';

/** How long nothing is sent to an endpoint, on the monotonic clock. */
export class EndpointPause {
  readonly #clock: Clock;
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether nothing is to be sent now. */
  get holds(): boolean {
    return this.#clock.elapsed() < this.#until;
  }

  /** Holds for this long from now on, or longer where it already was to. */
  extend(ms: number): void {
    this.#until = Math.max(this.#until, this.#clock.elapsed() + ms);
  }

  /** Holds for good; returns false when it already did. */
  forEver(): boolean {
    const isNew = this.#until !== Number.POSITIVE_INFINITY;
    this.#until = Number.POSITIVE_INFINITY;
    return isNew;
  }

  /** Ends the pause, unless it holds for good. */
  lift(): void {
    if (this.#until !== Number.POSITIVE_INFINITY) this.#until = Number.NEGATIVE_INFINITY;
  }
}
