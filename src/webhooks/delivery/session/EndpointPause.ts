import type { Clock } from '../../../ports/clock.ts';

/** For how long nothing is sent to an endpoint, on the clock that is never set. */
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

  /** Holds for so long from now on, or longer where it was to. */
  extend(ms: number): void {
    this.#until = Math.max(this.#until, this.#clock.elapsed() + ms);
  }

  /** Holds for good; false when it did before. */
  forEver(): boolean {
    const isNew = this.#until !== Number.POSITIVE_INFINITY;
    this.#until = Number.POSITIVE_INFINITY;
    return isNew;
  }

  /** Ends it, unless it holds for good. */
  lift(): void {
    if (this.#until !== Number.POSITIVE_INFINITY) this.#until = Number.NEGATIVE_INFINITY;
  }
}
