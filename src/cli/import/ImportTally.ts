import type { FieldMessage } from '../../errors.ts';
import type { SendResult } from './RecordSender.ts';

/** What an import did, as its last line tells it. */
export interface ImportCounts {
  accepted: number;
  rejected: number;
  created: number;
  updated: number;
  /** Remarks on accepted records, of the service and of the mapping. */
  warnings: number;
  by_kind: Record<string, KindCounts>;
  seconds: number;
}

/** A remark that was made, and how often. */
export interface WarningCount extends FieldMessage {
  kind: string;
  count: number;
}

export interface KindCounts {
  accepted: number;
  rejected: number;
}

/** Counts as results come in. */
export class ImportTally {
  readonly #startedAt = performance.now();
  readonly #counts: Omit<ImportCounts, 'seconds'> = {
    accepted: 0,
    rejected: 0,
    created: 0,
    updated: 0,
    warnings: 0,
    by_kind: {},
  };

  readonly #warnings = new Map<string, WarningCount>();

  /** Counts a line of the input that holds no record. */
  unreadable(): void {
    this.#counts.rejected++;
  }

  /** Counts what became of a record. */
  add(kind: string, result: SendResult): void {
    const counts = this.#counts;
    counts.by_kind[kind] ??= { accepted: 0, rejected: 0 };
    const side = result.accepted ? 'accepted' : 'rejected';
    counts[side]++;
    counts.by_kind[kind][side]++;
    if (!result.accepted) return;
    if (result.outcome === 'created') counts.created++;
    if (result.outcome === 'updated') counts.updated++;
    for (const warning of result.warnings) this.#warn(kind, warning);
  }

  #warn(kind: string, { field, message }: FieldMessage): void {
    this.#counts.warnings++;
    const key = JSON.stringify([kind, field, message]);
    const counted = this.#warnings.get(key) ?? { kind, field, message, count: 0 };
    counted.count++;
    this.#warnings.set(key, counted);
  }

  /** The remarks, those made most often first. */
  warnings(): WarningCount[] {
    return [...this.#warnings.values()].sort((a, b) => b.count - a.count);
  }

  /** The counts so far, and the seconds since the beginning. */
  counts(): ImportCounts {
    const seconds = Math.round(performance.now() - this.#startedAt) / 1000;
    return { ...this.#counts, seconds };
  }
}
