import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { Defect } from './defectsOf.ts';
import type { ScorecardRow } from './scorecard.ts';

/** The counts for one principal and field. */
interface Counts {
  principal: Principal;
  kind: string;
  field: string;
  rules: Set<string>;
  defects: number;
  /** For those that were fixed, how long that took, in milliseconds. */
  mended: number[];
  delayed: number;
}

/** A defect of a record on which several encounters may depend. */
interface Shared {
  counts: Counts;
  from: number;
  /** Undefined where an encounter still has it. */
  until: number | undefined;
}

/** Counts the defects of encounters, each once, however many encounters have it. */
export class DefectCounts {
  readonly #counts = new Map<string, Counts>();
  readonly #shared = new Map<string, Shared>();

  /** Counts the defects of one encounter. */
  add(encounterId: string, defects: readonly Defect[]): void {
    const delayedBy = new Set<Counts>();
    for (const defect of defects) {
      const counts = this.#countsOf(defect);
      counts.rules.add(defect.rule);
      if (defect.severity === 'blocks') delayedBy.add(counts);
      const { key, from, until } = defect;
      if (defect.kind === 'encounter' && defect.id === encounterId) count(counts, from, until);
      else this.#share(key, { counts, from, until });
    }
    for (const counts of delayedBy) counts.delayed += 1;
  }

  /** Returns the rows, sorted by how many encounters were delayed, most first. */
  rows(): ScorecardRow[] {
    for (const { counts, from, until } of this.#shared.values()) count(counts, from, until);
    this.#shared.clear();
    return [...this.#counts.values()]
      .map(({ principal, kind, field, rules, defects, mended, delayed }) => ({
        ...{ principal, kind, field, rules: [...rules].sort(), defects, open: defects - mended.length },
        median_ms: median(mended),
        encounters_delayed: delayed,
      }))
      .sort((a, b) => b.encounters_delayed - a.encounters_delayed || b.defects - a.defects);
  }

  #countsOf({ principal: { type, id }, kind, field }: Defect): Counts {
    const key = JSON.stringify([type, id, kind, field]);
    const counts = this.#counts.get(key) ?? {
      ...{ principal: { type, id }, kind, field, rules: new Set<string>() },
      ...{ defects: 0, mended: [], delayed: 0 },
    };
    this.#counts.set(key, counts);
    return counts;
  }

  #share(key: string, { counts, from, until }: Shared): void {
    const known = this.#shared.get(key);
    if (known === undefined) {
      this.#shared.set(key, { counts, from, until });
      return;
    }
    known.from = Math.min(known.from, from);
    known.until = known.until === undefined || until === undefined ? undefined : Math.max(known.until, until);
  }
}

function count(counts: Counts, from: number, until: number | undefined): void {
  counts.defects += 1;
  if (until !== undefined) counts.mended.push(until - from);
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
