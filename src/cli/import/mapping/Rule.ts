import { z } from 'zod';
import type { FieldMessage } from '../../../errors.ts';
import { conversionNames } from './conversions.ts';

/** The text of a column in the row at hand; of a column that is not there, an empty one. */
export type Cells = (column: string) => string;

/** Says what a row's mapping had to guess, or had to leave out. */
export type Remark = (remark: FieldMessage) => void;

/** How a field of a record comes from a row. */
export interface Rule {
  /** The columns that it reads. */
  columns: readonly string[];
  /** The field's value; undefined for none. */
  valueFrom(cells: Cells, remark: Remark): unknown;
}

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const texts = z.union([z.string(), z.array(z.string())]);

/** By column: the texts that it may have, or those that it may not. All conditions have to hold. */
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

/** A rule as a mapping file writes it. */
export type WrittenRule =
  | ({ is: 'column' } & z.infer<typeof columnSchema>)
  | ({ is: 'constant' } & z.infer<typeof constantSchema>)
  | ({ is: 'nested' } & z.infer<typeof nestedSchema>)
  | { is: 'alternatives'; rules: unknown[] };

/** What a rule in a mapping file is. Throws a `z.ZodError` that says what is wrong with it. */
export function readRule(written: unknown): WrittenRule {
  if (typeof written === 'string') return { is: 'column', column: written };
  if (Array.isArray(written)) return { is: 'alternatives', rules: written };
  const has = (name: string) => typeof written === 'object' && written !== null && name in written;
  if (has('fields')) return { is: 'nested', ...nestedSchema.parse(written) };
  if (has('value')) return { is: 'constant', ...constantSchema.parse(written) };
  return { is: 'column', ...columnSchema.parse(written) };
}

/** A condition of a rule, compared with the cells without the blanks around them. */
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
