import { z } from 'zod';
import { unwrapped } from '../../../domain/records/schema/fields.ts';
import { nestedIn } from '../../../domain/records/schema/kind.ts';
import { stateCode } from '../../../domain/records/schema/states.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { ImportError } from './source.ts';

/** The converted cell, and what had to be guessed. */
interface Converted {
  value: string;
  guess?: string;
}

/** A ZIP code, or ZIP+4, that was treated as a number somewhere: without its one or two leading zeros. */
const numericZip = /^(?:\d{3,4}|\d{7,8})$/;

/** Formats ZIP+4 as USPS does, restoring leading zeros that a spreadsheet may have dropped. */
function zipCode(zip: string): Converted {
  const isNumeric = numericZip.test(zip);
  const padded = isNumeric ? zip.padStart(zip.length > 5 ? 9 : 5, '0') : zip;
  const value = padded.replace(/^(\d{5})(\d{4})$/, '$1-$2');
  return {
    value,
    ...(isNumeric && { guess: 'had lost its leading zeros in the file; they were added' }),
  };
}

/** Returns the part of a social security number that may be stored: nothing else of it leaves this function. */
function lastFourDigits(text: string): Converted {
  const digits = text.replace(/\D/g, '');
  return { value: digits.length >= 4 ? digits.slice(-4) : '' };
}

const wordsOf = (name: string) => name.trim().split(/\s+/);

/** What a mapping may do with a cell (`as`); an empty value stands for none. */
const conversions = {
  last_four_digits: lastFourDigits,
  state_code: (state: string): Converted => ({ value: stateCode(state) }),
  zip_code: zipCode,
  /** The last word of a full name is the last name, everything before it the first. */
  first_names: (name: string): Converted => ({ value: wordsOf(name).slice(0, -1).join(' ') }),
  last_name: (name: string): Converted => ({ value: wordsOf(name).at(-1) ?? '' }),
} as const;

type ConversionName = keyof typeof conversions;

const conversionNames = Object.keys(conversions) as ConversionName[];

/** Returns the text of a column in the current row; empty for a missing column. */
export type Cells = (column: string) => string;

/** Reports what a row's mapping had to guess, or omit. */
type Remark = (remark: FieldMessage) => void;

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

type When = z.infer<typeof whenSchema>;

/** A rule as written in a mapping file. */
type WrittenRule =
  | ({ is: 'column' } & z.infer<typeof columnSchema>)
  | ({ is: 'constant' } & z.infer<typeof constantSchema>)
  | ({ is: 'nested' } & z.infer<typeof nestedSchema>)
  | { is: 'alternatives'; rules: unknown[] };

/** Parses a rule in a mapping file. Throws a `z.ZodError` that says what is wrong with it. */
function readRule(written: unknown): WrittenRule {
  if (typeof written === 'string') return { is: 'column', column: written };
  if (Array.isArray(written)) return { is: 'alternatives', rules: written };
  const has = (name: string) => typeof written === 'object' && written !== null && name in written;
  if (has('fields')) return { is: 'nested', ...nestedSchema.parse(written) };
  if (has('value')) return { is: 'constant', ...constantSchema.parse(written) };
  return { is: 'column', ...columnSchema.parse(written) };
}

/** Returns the condition of a rule, which is compared with the trimmed cells. */
function conditionOf(when: When = {}): { columns: string[]; holds(cells: Cells): boolean } {
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

/** What the rules of a mapping file are for. */
interface Target {
  /** Their place in it, for messages: `files.patients.csv.fields`. */
  place: string;
  /** What has the fields, for messages. */
  title: string;
  schema: z.ZodObject;
}

type Written<Is extends WrittenRule['is']> = Extract<WrittenRule, { is: Is }>;

const isNothing = (value: unknown) => value === undefined || value === '';

/**
 * Returns the rule that creates an object with fields according to their rules. Throws `ImportError`, which names the place of
 * the error.
 */
export function compileFields(written: Record<string, unknown>, target: Target): Rule {
  const { place, title, schema } = target;
  const shape = schema.shape as Record<string, z.ZodType>;
  const rules = Object.entries(written).map(([field, rule]) => {
    const fieldSchema = Object.hasOwn(shape, field) ? shape[field] : undefined;
    if (fieldSchema)
      return { field, rule: compileRule(rule, { place: `${place}.${field}`, field, fieldSchema }) };
    const known = Object.keys(shape).join(', ');
    throw new ImportError(`${place}.${field}: ${title} has no such field; its fields are ${known}.`);
  });
  const required = Object.keys(shape).filter((name) => !shape[name]?.safeParse(undefined).success);
  const missing = required.filter((name) => !(name in written));
  if (missing.length > 0) throw new ImportError(`${place}: ${title} needs ${missing.join(', ')}.`);
  return {
    columns: rules.flatMap(({ rule }) => rule.columns),
    valueFrom(cells, remark) {
      const values: Record<string, unknown> = {};
      for (const { field, rule } of rules) {
        const value = rule.valueFrom(cells, remark);
        if (!isNothing(value)) values[field] = value;
      }
      return values;
    },
  };
}

interface FieldTarget {
  place: string;
  field: string;
  fieldSchema: z.ZodType;
}

function compileRule(written: unknown, target: FieldTarget): Rule {
  let rule: WrittenRule;
  try {
    rule = readRule(written);
  } catch (error) {
    throw new ImportError(`${target.place}: ${problemOf(error as z.ZodError)}.`);
  }
  const nested = nestedIn(target.fieldSchema);
  if (rule.is === 'alternatives') return compileAlternatives(rule, target);
  if (nested && rule.is !== 'nested') {
    throw new ImportError(`${target.place}: the field is an object; specify its "fields".`);
  }
  if (rule.is === 'constant') return compileConstant(rule, target);
  if (rule.is === 'column') return compileColumn(rule, target);
  if (!nested) throw new ImportError(`${target.place}: the field is not an object, so it has no "fields".`);
  const { title, schema } = nested;
  return under(rule, compileFields(rule.fields, { place: `${target.place}.fields`, title, schema }));
}

/** Returns what is wrong with a part of a mapping file, without its values. */
export function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  return `${path}${issue?.message}`;
}

/** Returns a rule for the first of several that yields a value. */
function compileAlternatives({ rules }: Written<'alternatives'>, target: FieldTarget): Rule {
  const alternatives = rules.map((rule, index) =>
    compileRule(rule, { ...target, place: `${target.place}[${index}]` }),
  );
  return {
    columns: alternatives.flatMap(({ columns }) => columns),
    valueFrom(cells, remark) {
      const remarks: Parameters<typeof remark>[0][] = [];
      for (const rule of alternatives) {
        const own: typeof remarks = [];
        const value = rule.valueFrom(cells, (made) => own.push(made));
        if (!isNothing(value)) {
          own.forEach(remark);
          return value;
        }
        remarks.push(...own);
      }
      remarks.slice(0, 1).forEach(remark);
      return undefined;
    },
  };
}

function compileConstant(rule: Written<'constant'>, target: FieldTarget): Rule {
  requireFit(rule.value, target);
  return under(rule, { columns: [], valueFrom: () => rule.value });
}

function compileColumn(rule: Written<'column'>, target: FieldTarget): Rule {
  const { column, as, values, otherwise } = rule;
  for (const value of Object.values(values ?? {})) requireFit(value, target);
  if (otherwise !== undefined) requireFit(otherwise, target);
  if (values === undefined && unwrapped(target.fieldSchema) instanceof z.ZodBoolean) {
    throw new ImportError(
      `${target.place}: the field is true or false; specify with "values" which text means which.`,
    );
  }
  const byText = values && new Map(Object.entries(values).map(([text, value]) => [keyOf(text), value]));
  const convert = as && conversions[as];
  return under(rule, {
    columns: [column],
    valueFrom(cells, remark) {
      const cell = cells(column);
      if (cell.trim() === '') return undefined;
      const { value, guess } = convert ? convert(cell) : { value: cell, guess: undefined };
      if (guess) remark({ field: target.field, message: guess });
      if (byText === undefined) return value;
      const mapped = byText.get(keyOf(value));
      if (mapped !== undefined) return mapped;
      if (otherwise === undefined) {
        remark({ field: target.field, message: 'is omitted: the mapping has no value for this text' });
      }
      return otherwise;
    },
  });
}

/** Texts of a value map are case-insensitive. */
const keyOf = (text: string) => text.trim().toLowerCase();

function requireFit(value: unknown, { place, fieldSchema }: FieldTarget): void {
  const { error } = fieldSchema.safeParse(value);
  if (error)
    throw new ImportError(
      `${place}: ${JSON.stringify(value)} is not a valid value of the field: ${problemOf(error)}.`,
    );
}

/** Returns a rule that yields a value only under its condition. */
function under({ when }: Pick<Written<'column'>, 'when'>, rule: Rule): Rule {
  if (when === undefined) return rule;
  const condition = conditionOf(when);
  return {
    columns: [...condition.columns, ...rule.columns],
    valueFrom: (cells, remark) => (condition.holds(cells) ? rule.valueFrom(cells, remark) : undefined),
  };
}
