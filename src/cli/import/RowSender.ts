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

/** What became of a row, as the service tells it. */
export type RowResult = z.infer<typeof rowResultSchema>;

/** What became of accepted rows. */
export type OutcomeCounts = Record<'created' | 'updated' | 'unchanged', number>;

export interface BatchAnswer {
  /** Of each row, in their order. */
  results: RowResult[];
  /** Of the accepted ones together, where the results do not tell. */
  counts?: OutcomeCounts;
  /** There was an earlier try under the same key, which may have written rows. */
  isRepeat: boolean;
}

/** How the rows of an import are sent. */
export interface RowSender {
  /** A record as it is sent. */
  lineOf(item: SourceRecord): string;
  /** What became of each row. Rejects as `ImportClient.send` does. */
  send(rows: readonly Row[], idempotencyKey: string): Promise<BatchAnswer>;
}
