import type { RecordKind } from '../../records/catalog.ts';
import type { SendResult } from './RecordSender.ts';

/** What an import did, as its last line tells it. */
export interface ImportCounts {
  accepted: number;
  rejected: number;
  created: number;
  updated: number;
  /** Remarks of the service on accepted records. */
  warnings: number;
  by_kind: Partial<Record<RecordKind, KindCounts>>;
  seconds: number;
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

  /** Counts a line of the input that holds no record. */
  unreadable(): void {
    this.#counts.rejected++;
  }

  /** Counts what became of a record. */
  add(kind: RecordKind, result: SendResult): void {
    const counts = this.#counts;
    counts.by_kind[kind] ??= { accepted: 0, rejected: 0 };
    const side = result.accepted ? 'accepted' : 'rejected';
    counts[side]++;
    counts.by_kind[kind][side]++;
    if (!result.accepted) return;
    if (result.outcome === 'created') counts.created++;
    if (result.outcome === 'updated') counts.updated++;
    counts.warnings += result.warnings;
  }

  /** The counts so far, and the seconds since the beginning. */
  counts(): ImportCounts {
    const seconds = Math.round(performance.now() - this.#startedAt) / 1000;
    return { ...this.#counts, seconds };
  }
}
