import { overloaded } from './BodyBudget.ts';

/** Requests beyond this would wait longer than their senders do, and hold up all others. */
const MOST_UNDER_WAY = 1_000;

/** Bounds the requests that a thread works on at once, so that those it accepts are answered in time. */
export class RequestLoad {
  readonly #most: number;
  readonly #underWay = new Set<object>();

  constructor(most = MOST_UNDER_WAY) {
    this.#most = most;
  }

  /** Counts a request that has arrived completely, until `leave`. Throws `overloaded` where there are too many. */
  enter(exchange: object): void {
    if (this.#underWay.size >= this.#most) throw overloaded('requests');
    this.#underWay.add(exchange);
  }

  /** Stops counting a request; does nothing for one that was not counted. */
  leave(exchange: object): void {
    this.#underWay.delete(exchange);
  }
}
