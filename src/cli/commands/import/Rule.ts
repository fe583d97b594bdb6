import { z } from 'zod';
import type { FieldMessage } from '../../../platform/errors.ts';
import { conversionNames } from './conversions.ts';

/** Returns the text of a column in the current row; empty for a missing column. */
export type Cells = (column: string) => string;

/** Reports what a row's mapping had to guess, or omit. */
export type Remark = (remark: FieldMessage) => void;

/** How a record's field is derived from a row. */
export interface Rule {
  /** The columns that it reads. */
  columns: readonly string[];
  /** Returns the field's value; undefined for none. */
  valueFrom(cells: Cells, remark: Remark): unknown;
}

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const texts = z.union([z.string(), z.array(z.string())]);

/** By column: the texts that it may have, or those that it may not. All conditions must hold. */
const whenSchema = z.record(z.string(), z.union([texts, z.strictObject({ not: texts })]));

const columnSchema = z.strictObject({
  column: z.string(),
  as: z.enum(conversionNames).optional(),
  values: z.record(z.string(), scalar).optional(),
  otherwise: scalar.optional(),
  when: whenSchema.optional(),
});

const constantSchema = z.strictObject({ value: scalar, when: whenSchema.optional() });

const nestedSchema = z.strictObject({
  fields: z.record(z.string(), z.unknown()),
  when: whenSchema.optional(),
});

export type When = z.infer<typeof whenSchema>;

/** A rule as written in a mapping file. */
export type WrittenRule =
  | ({ is: 'column' } & z.infer<typeof columnSchema>)
  | ({ is: 'constant' } & z.infer<typeof constantSchema>)
  | ({ is: 'nested' } & z.infer<typeof nestedSchema>)
  | { is: 'alternatives'; rules: unknown[] };

/** Parses a rule in a mapping file. Throws a `z.ZodError` that says what is wrong with it. */
export function readRule(written: unknown): WrittenRule {
  if (typeof written === 'string') return { is: 'column', column: written };
  if (Array.isArray(written)) return { is: 'alternatives', rules: written };
  const has = (name: string) => typeof written === 'object' && written !== null && name in written;
  if (has('fields')) return { is: 'nested', ...nestedSchema.parse(written) };
  if (has('value')) return { is: 'constant', ...constantSchema.parse(written) };
  return { is: 'column', ...columnSchema.parse(written) };
}

/** Returns the condition of a rule, which is compared with the trimmed cells. */
export function conditionOf(when: When = {}): { columns: string[]; holds(cells: Cells): boolean } {
  const conditions = Object.entries(when).map(([column, wanted]) => {
    const isNegated = typeof wanted === 'object' && 'not' in wanted;
    const among = new Set([isNegated ? wanted.not : wanted].flat());
    return { column, among, isNegated };
  });
  return {
    columns: conditions.map(({ column }) => column),
    holds: (cells) =>
      conditions.every(({ column, among, isNegated }) => among.has(cells(column).trim()) !== isNegated),
  };
}
