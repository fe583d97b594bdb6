import { z } from 'zod';
import type { FieldMessage } from '../../../platform/errors.ts';
import type { OutcomeCounts } from './RowSender.ts';

const kindCountsSchema = z.object({ accepted: z.int(), rejected: z.int() });

const warningCountSchema = z.object({
  kind: z.string(),
  field: z.string(),
  message: z.string(),
  count: z.int(),
});

/** What an import has counted so far. */
export const tallySchema = z.object({
  accepted: z.int().default(0),
  rejected: z.int().default(0),
  created: z.int().default(0),
  updated: z.int().default(0),
  unchanged: z.int().default(0),
  by_kind: z.record(z.string(), kindCountsSchema).default({}),
  warnings: z.array(warningCountSchema).default([]),
  seconds: z.number().default(0),
});

type TallySnapshot = z.infer<typeof tallySchema>;

/** The result of an import, as in its last line. */
export interface ImportCounts extends Omit<TallySnapshot, 'warnings'> {
  /** Warnings for accepted records, by the service and by the mapping. */
  warnings: number;
}

/** A warning, and how often it occurred. */
export type WarningCount = z.infer<typeof warningCountSchema>;

/** The result of one record or document. */
export type SendResult =
  | { accepted: true; outcome: string; warnings: FieldMessage[] }
  | { accepted: false; status: number | null; error: string; details?: unknown };

/** Counts results as they come in. */
export class ImportTally {
  readonly #startedAt = performance.now();
  readonly #counts: Omit<TallySnapshot, 'warnings'>;
  readonly #warnings: Map<string, WarningCount>;

  /** Continues from earlier counts. */
  constructor({ warnings, ...counts }: TallySnapshot) {
    this.#counts = structuredClone(counts);
    this.#warnings = new Map(warnings.map((warning) => [keyOf(warning), { ...warning }]));
  }

  /** Counts a line of the input that contains no record. */
  unreadable(): void {
    this.#counts.rejected++;
  }

  /** Counts the result of a record. */
  add(kind: string, result: SendResult): void {
    const counts = this.#counts;
    counts.by_kind[kind] ??= { accepted: 0, rejected: 0 };
    const side = result.accepted ? 'accepted' : 'rejected';
    counts[side]++;
    counts.by_kind[kind][side]++;
    if (!result.accepted) return;
    const { outcome } = result;
    if (outcome === 'created' || outcome === 'updated' || outcome === 'unchanged') counts[outcome]++;
    for (const warning of result.warnings) this.#warn({ kind, ...warning });
  }

  /** Adds the outcomes of records that were counted without one. */
  addOutcomes({ created, updated, unchanged }: OutcomeCounts): void {
    this.#counts.created += created;
    this.#counts.updated += updated;
    this.#counts.unchanged += unchanged;
  }

  #warn(warning: Omit<WarningCount, 'count'>): void {
    const { kind, field, message } = warning;
    const key = keyOf(warning);
    const counted = this.#warnings.get(key) ?? { kind, field, message, count: 0 };
    counted.count++;
    this.#warnings.set(key, counted);
  }

  /** Returns the warnings, most frequent first. */
  warnings(): WarningCount[] {
    return [...this.#warnings.values()].sort((a, b) => b.count - a.count);
  }

  /** Returns everything counted so far; `seconds` since the beginning, excluding the time between runs. */
  snapshot(): TallySnapshot {
    const seconds = Math.round(performance.now() - this.#startedAt) / 1000 + this.#counts.seconds;
    return { ...this.#counts, warnings: [...this.#warnings.values()], seconds };
  }

  counts(): ImportCounts {
    const { warnings, ...counts } = this.snapshot();
    return { ...counts, warnings: warnings.reduce((sum, { count }) => sum + count, 0) };
  }
}

function keyOf({ kind, field, message }: Omit<WarningCount, 'count'>): string {
  return JSON.stringify([kind, field, message]);
}
