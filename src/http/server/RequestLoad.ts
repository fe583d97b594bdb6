import { overloaded } from './BodyBudget.ts';

/** What comes beyond it would wait for longer than those who send it do, and hold up all others. */
const MOST_UNDER_WAY = 1_000;

/** Bounds the requests that a thread works on at once, so that those which it takes are answered in time. */
export class RequestLoad {
  readonly #most: number;
  readonly #underWay = new Set<object>();

  constructor(most = MOST_UNDER_WAY) {
    this.#most = most;
  }

  /** Counts a request, of which all has come, until `leave`. Throws `overloaded` where there are too many. */
  enter(exchange: object): void {
    if (this.#underWay.size >= this.#most) throw overloaded('requests');
    this.#underWay.add(exchange);
  }

  /** Counts a request no more; one that was not counted changes nothing. */
  leave(exchange: object): void {
    this.#underWay.delete(exchange);
  }
}
