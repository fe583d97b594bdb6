import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type BudgetShare, FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/FairBudget.ts';

const RETRY_AFTER_SECONDS = 2;

/** Returns the refusal of a request, or of its body, while too many others are under way. */
export function overloaded(
  what: 'requests' | 'request bodies' | 'batches' | 'reads of events' = 'request bodies',
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
export function takeFrom(share: BudgetShare, amount: number, what?: Parameters<typeof overloaded>[0]): void {
  if (!share.take(amount)) throw overloaded(what);
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
