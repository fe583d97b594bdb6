import { z } from 'zod';
import { referenceOf } from './fields.ts';
import { uspsStates } from './states.ts';

/** What a rule may know besides the value. */
export interface DeidentifyContext {
  /** The year in which the event was recorded. */
  year: number;
  /** Returns the keyed hash that stands for an id of a kind. */
  pseudonym(kind: string, id: string): string;
}

/** What the de-identified view shows of a field. */
export interface Rule {
  /** The schema of the shown value, when one is shown. */
  schema: z.ZodType;
  /** Returns the shown value; undefined when this value is left out. */
  show(value: unknown, context: DeidentifyContext): unknown;
  /** For a nested object: the rules of its fields. */
  fields?: FieldRules;
}

/** The rules of fields, by name. A field without a rule is left out as well. */
export type FieldRules = Readonly<Record<string, Rule | 'left out'>>;

/**
 * The decision on a field: a rule, leaving it out, showing an id or a reference as its keyed hash, or showing one of
 * a limited set of values as it is.
 */
export type Decision = Rule | 'left out' | 'hashed' | 'shown';

export const pseudonymSchema = z
  .string()
  .regex(/^[\w-]{22}$/)
  .meta({ description: 'Keyed hash of the id: the same for the same id of a kind in a workspace' });

/** Shows an id of a kind as its keyed hash. */
export function hashed(kind: string): Rule {
  return {
    schema: pseudonymSchema,
    show: (value, { pseudonym }) => (typeof value === 'string' ? pseudonym(kind, value) : undefined),
  };
}

/** Shows a value from a limited set as it is; any other value is left out. */
export function listed(schema: z.ZodType): Rule {
  return { schema, show: (value) => (schema.safeParse(value).success ? value : undefined) };
}

/**
 * Ages from here on form one group, and years that would reveal such an age are grouped too (45 CFR
 * 164.514(b)(2)(i)(C)).
 */
const GROUPED_AGE = 90;

/**
 * Shows only the year of a date. Years are compared, not days: anyone who reaches the age within the event's year
 * already belongs to the group.
 */
export const onlyYear: Rule = {
  schema: z
    .string()
    .regex(/^\d{4}(?: or earlier)?$/)
    .meta({
      description: 'Only the year; years that would reveal an age of 90 or more are grouped',
      examples: ['1984'],
    }),
  show(value, context) {
    const [, digits] = /^(\d{4})-/.exec(String(value)) ?? [];
    if (digits === undefined) return undefined;
    const earliest = context.year - GROUPED_AGE;
    return Number(digits) > earliest ? digits : `${earliest} or earlier`;
  },
};

/** For a free-text field: a value that is not a state may be anything, such as a street. */
export const onlyState = listed(
  z.enum(uspsStates).meta({ description: 'A USPS state code; other values are omitted', examples: ['NE'] }),
);

export const onlyCountry = listed(
  z
    .string()
    .regex(/^[A-Z]{2}$/)
    .meta({ description: 'A two-letter country code; other values are omitted', examples: ['US'] }),
);

/** The decisions on the fields of an address, from the city onwards. */
export const placeDecisions = {
  city: 'left out',
  state: onlyState,
  zip_code: 'left out',
  country: onlyCountry,
} as const satisfies Record<string, Decision>;

/** The decisions on the fields of an address. */
export const addressDecisions = {
  address_line_1: 'left out',
  address_line_2: 'left out',
  ...placeDecisions,
} as const satisfies Record<string, Decision>;

/**
 * Returns the rules that the decisions on a shape's fields amount to; `kind` is the kind that has the fields, where
 * its ids are hashed.
 */
export function rulesOf(
  shape: z.ZodRawShape,
  decisions: Readonly<Record<string, Decision>>,
  kind?: string,
): FieldRules {
  const ruleOf = ([field, decision]: [string, Decision]): [string, Rule | 'left out'] => {
    const schema = shape[field] as z.ZodType;
    if (decision === 'shown') return [field, listed(schema)];
    if (decision !== 'hashed') return [field, decision];
    const hashedKind = field === 'id' ? kind : referenceOf(schema)?.kind;
    if (hashedKind === undefined) throw new Error(`${field} is not an id, and cannot be hashed as one`);
    return [field, hashed(hashedKind)];
  };
  return Object.fromEntries(Object.entries(decisions).map(ruleOf));
}

/** Returns what the rules leave of an object's fields. A cleared field (`null`) is shown as cleared. */
export function showFields(
  rules: FieldRules,
  fields: Record<string, unknown>,
  context: DeidentifyContext,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const field in rules) {
    const rule = rules[field];
    if (rule === undefined || rule === 'left out' || !Object.hasOwn(fields, field)) continue;
    const value = fields[field] === null ? null : rule.show(fields[field], context);
    if (value !== undefined) shown[field] = value;
  }
  return shown;
}

/**
 * Returns the schema of what `showFields` makes of an object that `base` describes: no other fields, and `null` only
 * where `base` allows it.
 */
export function shownSchema(rules: FieldRules, base: z.ZodObject): z.ZodObject {
  const shape = Object.entries<z.ZodType>(base.shape).flatMap(([field, original]) => {
    const rule = rules[field];
    if (rule === undefined || rule === 'left out') return [];
    const takes = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;
    let { schema } = rule;
    if (takes(original, null) && !takes(schema, null)) schema = schema.nullable();
    if (takes(original, undefined) && !takes(schema, undefined)) schema = schema.optional();
    return [[field, schema] as const];
  });
  return z.strictObject(Object.fromEntries(shape));
}

/** Returns the names of the fields that the rules show; those of a nested object are dotted. */
export function shownNames(rules: FieldRules): string[] {
  return Object.entries(rules).flatMap(([field, rule]) => {
    if (rule === 'left out') return [];
    if (rule.fields === undefined) return [field];
    return shownNames(rule.fields).map((inner) => `${field}.${inner}`);
  });
}
