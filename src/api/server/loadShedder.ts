import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type BudgetShare, FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/fairBudget.ts';

const RETRY_AFTER_SECONDS = 2;

/** Returns the refusal of a request, or of its body, while too many others are under way. */
export function overloaded(
  what:
    | 'requests'
    | 'request bodies'
    | 'batches'
    | 'reads of events'
    | 'reconciliations'
    | 'comparisons' = 'request bodies',
): ServiceError {
  return new ServiceError('overloaded', `Too many ${what} are in progress. Try again in a moment.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Returns whose share a request takes from, for budgets of `WORKSPACE_AND_KEY`. */
export function ownersOf({ found }: { found: FoundKey | undefined }): string[] {
  return [found?.workspace.id ?? '', found?.key.id ?? ''];
}

/** Takes this much more for a request. Throws `overloaded` when that is more than is left for its owners. */
export function reserveShare(
  share: BudgetShare,
  amount: number,
  what?: Parameters<typeof overloaded>[0],
): void {
  if (!share.reserve(amount)) throw overloaded(what);
}

/** How much the interface's bodies under way may take, in bytes. */
export interface Bodies {
  json: FairBudget;
  uploads: FairBudget;
}

const MEBIBYTE = 1024 * 1024;

/**
 * The share of one key is two FHIR bodies of 16 MB, or one with as many values as it may have, or 85 uploads. JSON bodies count until
 * they are handled, with what they decompress and parse to.
 */
export function bodyBudgets(): Bodies {
  return {
    json: new FairBudget(96 * MEBIBYTE, WORKSPACE_AND_KEY),
    uploads: new FairBudget(128 * MEBIBYTE, WORKSPACE_AND_KEY),
  };
}

/** Requests beyond this would wait longer than their senders do, and hold up all others. One key may have 1,000. */
const MOST_UNDER_WAY = 3_000;

/**
 * A request, which has itself what it holds until it is handled. In a table of all, requests would outlive that: when V8 enlarges or
 * cleans up a table, the former one refers to the next, and, once it is old, keeps its contents until a full collection.
 */
interface UnderWay {
  found: FoundKey | undefined;
  readonly held: BudgetShare[];
}

/** Bounds the requests that a thread works on at once, so that those it accepts are answered in time. */
export class LoadShedder {
  readonly #budget = new FairBudget(MOST_UNDER_WAY, WORKSPACE_AND_KEY);

  /**
   * Counts a request that has arrived completely, until `leave`, which also gives back what its `body` holds. Throws `overloaded`
   * where there are too many, in all or of its sender.
   */
  enter(context: UnderWay, ...body: BudgetShare[]): void {
    const share = this.#budget.share(ownersOf(context));
    reserveShare(share, 1, 'requests');
    context.held.push(share, ...body);
  }

  /** Stops counting a request; does nothing for one that was not counted. */
  leave({ held }: UnderWay): void {
    for (const share of held) share.release();
  }
}
