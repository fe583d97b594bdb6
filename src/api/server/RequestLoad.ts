import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import { type BudgetShare, FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/FairBudget.ts';
import { ownersOf, takeFrom } from './BodyBudget.ts';

/** Requests beyond this would wait longer than their senders do, and hold up all others. One key may have 1,000. */
const MOST_UNDER_WAY = 3_000;

/** Bounds the requests that a thread works on at once, so that those it accepts are answered in time. */
export class RequestLoad {
  readonly #budget = new FairBudget(MOST_UNDER_WAY, WORKSPACE_AND_KEY);
  readonly #underWay = new Map<object, BudgetShare[]>();

  /**
   * Counts a request that has arrived completely, until `leave`, which also gives back what its `body` holds. Throws `overloaded`
   * where there are too many, in all or of its sender.
   */
  enter(exchange: { found: FoundKey | undefined }, ...body: BudgetShare[]): void {
    const share = this.#budget.share(ownersOf(exchange));
    takeFrom(share, 1, 'requests');
    this.#underWay.set(exchange, [share, ...body]);
  }

  /** Stops counting a request; does nothing for one that was not counted. */
  leave(exchange: object): void {
    for (const share of this.#underWay.get(exchange) ?? []) share.giveAll();
    this.#underWay.delete(exchange);
  }
}
