import { z } from 'zod';
import {
  type Decision,
  type FieldRules,
  type Rule,
  rulesOf,
  showFields,
  shownSchema,
} from './deidentification.ts';
import type { Checks } from './fieldChecks.ts';
import { unwrapped } from './fields.ts';

/** Fields that belong together within a record; sending the object replaces the earlier one as a whole. */
export interface NestedObject {
  title: string;
  /** What it is: a sentence without its full stop. */
  description: string;
  /** What it replaces when it is sent: `the one of its rank`. */
  replaces: string;
  schema: z.ZodObject;
  rules: FieldRules;
  /** What the de-identified view shows of it. */
  shown: z.ZodObject;
  checks: Checks;
}

type Definition<Shape extends z.ZodRawShape> = Pick<NestedObject, 'title' | 'description' | 'replaces'> & {
  fields: Shape;
  deidentified: Readonly<Record<keyof NoInfer<Shape>, Decision>>;
  checks: { readonly [Field in keyof NoInfer<Shape>]?: Checks[string] };
};

const nestedObjects = new WeakMap<z.ZodType, NestedObject>();

/**
 * Defines a nested object: `field` is an optional field that holds one, `rule` what the de-identified view shows of
 * it.
 */
export function defineNested<Shape extends z.ZodRawShape>({
  fields,
  deidentified,
  checks,
  ...words
}: Definition<Shape>) {
  const { title, description, replaces } = words;
  const schema = z
    .object(fields)
    .meta({ id: title, description: `${description}. If sent, it replaces ${replaces} as a whole.` });
  const rules = rulesOf(fields, deidentified);
  const shown = shownSchema(rules, schema).meta({
    id: `Deidentified${title}`,
    description: `${description}, de-identified.`,
  });
  const rule: Rule = {
    schema: shown,
    show: (value, context) => showFields(rules, value as Record<string, unknown>, context),
    fields: rules,
  };
  nestedObjects.set(schema, { ...words, schema, rules, shown, checks: checks as Checks });
  return { schema, rules, rule, field: schema.nullable().optional() };
}

/** Returns the nested object that a field holds; undefined when it holds a plain value. */
export function nestedIn(field: z.ZodType): NestedObject | undefined {
  return nestedObjects.get(unwrapped(field));
}
