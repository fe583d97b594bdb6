/**
 * Divisors: a workspace may hold as much as is left for others, a key as much as its workspace leaves of that. So alone in a process,
 * a workspace has a half, and a key a third of the total.
 */
export const WORKSPACE_AND_KEY: readonly number[] = [1, 1];

/** What one owner of a budget holds for one piece of work. */
export interface BudgetShare {
  /** Takes this much more, if that leaves enough for others; false, and nothing taken, where it does not. */
  reserve(amount: number): boolean;
  /** Gives back all of it; may be called more than once. */
  release(): void;
}

/** The owners at one level that hold something. */
interface Level {
  divisor: number;
  owners: Map<string, { held: number }>;
}

/**
 * Bounds something that a thread has little of, such as memory for bodies, so that no owner can hold all of it. What an owner may
 * hold depends on what is left for the others (dynamic thresholds: Choudhury and Hahne, 1998): at most 1/n of that. So the first
 * owner gets 1/(n+1) of the total, each further one a part of the rest, and nothing need be known about their number. An owner
 * that holds nothing may take whatever is left, so that one piece of work is always possible.
 */
export class FairBudget {
  readonly #levels: Level[];
  #left: number;

  /** `divisors`: the n of owners at each level, from the outermost: of a workspace, then of a key in it. */
  constructor(total: number, divisors: readonly number[]) {
    this.#left = total;
    this.#levels = divisors.map((divisor) => ({ divisor, owners: new Map() }));
  }

  /** Begins a piece of work, which holds nothing yet. `owners`: who does it, at each level. */
  share(owners: readonly string[]): BudgetShare {
    let taken = 0;
    return {
      reserve: (amount) => {
        if (!this.#reserve(amount, owners)) return false;
        taken += amount;
        return true;
      },
      release: () => {
        if (taken > 0) this.#release(taken, owners);
        taken = 0;
      },
    };
  }

  #reserve(amount: number, owners: readonly string[]): boolean {
    const left = this.#left - amount;
    if (left < 0) return false;
    let others = left;
    for (let at = 0; at < this.#levels.length; at += 1) {
      const level = this.#levels[at] as Level;
      const own = level.owners.get(owners[at] as string);
      if (own !== undefined && (own.held + amount) * level.divisor > others) return false;
      others -= (own?.held ?? 0) + amount;
    }
    this.#add(amount, owners);
    return true;
  }

  #release(amount: number, owners: readonly string[]): void {
    this.#add(-amount, owners);
  }

  #add(amount: number, names: readonly string[]): void {
    this.#left -= amount;
    for (let at = 0; at < this.#levels.length; at += 1) {
      const { owners } = this.#levels[at] as Level;
      const name = names[at] as string;
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, { held: amount });
      else if (owner.held + amount > 0) owner.held += amount;
      else owners.delete(name);
    }
  }
}
