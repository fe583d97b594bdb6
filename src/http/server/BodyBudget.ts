import { ServiceError } from '../../errors.ts';

const RETRY_AFTER_SECONDS = 2;

/** Returns the refusal of a request, or of its body, while too many others are under way. */
export function overloaded(what: 'requests' | 'request bodies' = 'request bodies'): ServiceError {
  return new ServiceError('overloaded', `Too many ${what} are in progress. Try again in a moment.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Bounds the memory held by request bodies that have not arrived completely. */
export class BodyBudget {
  readonly #share: number;
  readonly #taken = new Map<string, number>();
  #left: number;

  /** In bytes: for all bodies, and for those of one owner, where owners are named. */
  constructor(total: number, share: number = total) {
    this.#left = total;
    this.#share = share;
  }

  /** Takes this many bytes until they are given back. Throws `overloaded` when too few are left. */
  take(bytes: number, owner?: string): void {
    const taken = owner === undefined ? 0 : (this.#taken.get(owner) ?? 0);
    if (bytes > this.#left || taken + bytes > this.#share) {
      throw overloaded();
    }
    this.#left -= bytes;
    if (owner !== undefined) this.#taken.set(owner, taken + bytes);
  }

  give(bytes: number, owner?: string): void {
    this.#left += bytes;
    if (owner === undefined) return;
    const taken = (this.#taken.get(owner) ?? 0) - bytes;
    if (taken > 0) this.#taken.set(owner, taken);
    else this.#taken.delete(owner);
  }
}

/** How much the interface's bodies under way may take. */
export interface Bodies {
  json: BodyBudget;
  uploads: BodyBudget;
}

const MEBIBYTE = 1024 * 1024;

/** 64 MiB each: as many bodies of 1 MB, or twice as many uploads, as are ever likely at once. */
export function bodyBudgets(): Bodies {
  return { json: new BodyBudget(64 * MEBIBYTE), uploads: new BodyBudget(64 * MEBIBYTE) };
}
