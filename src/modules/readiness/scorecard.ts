import { z } from 'zod';
import { principalSchema } from '../run.ts';

const rowSchema = z.object({
  /** Whose writes introduced the defects. */
  principal: principalSchema,
  /** Kind of the records at fault, and the field at fault in them. */
  kind: z.string(),
  field: z.string(),
  /** Codes of the rules that found them. */
  rules: z.array(z.string()),
  /** Each counts once, however many encounters have it. */
  defects: z.int(),
  /** How many of them still stand. */
  open: z.int(),
  /**
   * The median time until the fixed ones were fixed, in milliseconds: half of them took longer; null where none has
   * been fixed.
   */
  median_ms: z.number().nullable(),
  /** Completed encounters that one of them kept from being billed. */
  encounters_delayed: z.int(),
});
export type ScorecardRow = z.infer<typeof rowSchema>;

/** Who introduced which defects, by field. */
export const scorecardSchema = z.object({
  /** Encounters that were looked at. */
  encounters: z.int(),
  /** Those of them that cannot be read. */
  unreadable: z.int(),
  rows: z.array(rowSchema),
});
export type Scorecard = z.infer<typeof scorecardSchema>;

const HOUR_MS = 3_600_000;

/** The columns of its file. */
export const scorecardColumns = [
  'principal_type',
  'principal_id',
  'principal_name',
  'record_kind',
  'field',
  'rules',
  'defects',
  'open',
  'median_hours_until_mended',
  'encounters_delayed',
] as const;

/** Returns a row as a line of a file; `name` is that of its principal. */
export function scorecardLine(
  { principal, kind, field, rules, defects, open, median_ms, encounters_delayed }: ScorecardRow,
  name: string | undefined,
) {
  return {
    principal_type: principal.type,
    principal_id: principal.id,
    principal_name: name,
    record_kind: kind,
    ...{ field, rules: rules.join(' '), defects, open, encounters_delayed },
    // To one decimal place.
    median_hours_until_mended: median_ms === null ? undefined : Math.round((median_ms / HOUR_MS) * 10) / 10,
  };
}
