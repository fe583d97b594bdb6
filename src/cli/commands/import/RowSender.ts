import { z } from 'zod';
import type { Row } from './chunks.ts';
import type { SourceRecord } from './importSource.ts';

export const rowResultSchema = z.object({
  line: z.int(),
  status: z.int(),
  outcome: z.string().optional(),
  warnings: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
  error: z.string().default(''),
  code: z.string().optional(),
  details: z.unknown().optional(),
  retryable: z.boolean().default(false),
  retryAfter: z.number().optional(),
});

/** The result of a row, as returned by the service. */
export type RowResult = z.infer<typeof rowResultSchema>;

/** The outcomes of accepted rows. */
export type OutcomeCounts = Record<'created' | 'updated' | 'unchanged', number>;

export interface BatchAnswer {
  /** For each row, in order. */
  results: RowResult[];
  /** Totals for the accepted ones, if the results do not say. */
  counts?: OutcomeCounts;
  /** Whether there was an earlier try with the same key, which may have written rows. */
  isRepeat: boolean;
}

/** How the rows of an import are sent. */
export interface RowSender {
  /** Returns a record as it is sent. */
  lineOf(item: SourceRecord): string;
  /** Returns the result of each row. Rejects as `ImportClient.send` does. */
  send(rows: readonly Row[], idempotencyKey: string): Promise<BatchAnswer>;
}
