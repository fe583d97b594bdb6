import { z } from 'zod';
import { unwrapped } from '../../../domain/records/schema/fields.ts';
import { nestedIn } from '../../../domain/records/schema/nestedObject.ts';
import { conversions } from './conversions.ts';
import { ImportError } from './importSource.ts';
import { conditionOf, type Rule, readRule, type WrittenRule } from './Rule.ts';

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
