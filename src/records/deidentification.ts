import { z } from 'zod';
import { referenceOf } from './fields.ts';
import { uspsStates } from './states/uspsStates.ts';

/** What a rule may know beside the value. */
export interface DeidentifyContext {
  /** Year in which the event was recorded. */
  year: number;
  /** The keyed hash that stands for an id of a kind. */
  pseudonym(kind: string, id: string): string;
}

/** What the de-identified view shows of a field. */
export interface Rule {
  /** What is shown, when something is. */
  schema: z.ZodType;
  /** The shown value; undefined when this value is left out. */
  show(value: unknown, context: DeidentifyContext): unknown;
  /** Of a nested object: the rules of its fields. */
  fields?: FieldRules;
}

/** The rules of fields, by name. A field without one is left out, too. */
export type FieldRules = Readonly<Record<string, Rule | 'left out'>>;

/**
 * What is decided on a field: a rule, that it is left out, that an id or a reference is shown as its keyed hash, or
 * that one of a limited set of values is shown as it is.
 */
export type Decision = Rule | 'left out' | 'hashed' | 'shown';

export const pseudonymSchema = z
  .string()
  .regex(/^[\w-]{22}$/)
  .meta({ description: 'Keyed hash of the id: the same for the same id of a kind in a workspace' });

/** The keyed hash of an id of a kind. */
export function hashed(kind: string): Rule {
  return {
    schema: pseudonymSchema,
    show: (value, { pseudonym }) => (typeof value === 'string' ? pseudonym(kind, value) : undefined),
  };
}

/** The value of a field of a limited set of values, as it is; any other is left out. */
export function listed(schema: z.ZodType): Rule {
  return { schema, show: (value) => (schema.safeParse(value).success ? value : undefined) };
}

/** Ages from here on are one group, and so are years that would tell such an age (45 CFR 164.514(b)(2)(i)(C)). */
const GROUPED_AGE = 90;

/** The year of a date. Years are compared, not days: who reaches the age within the event's year belongs to the group already. */
export const yearAlone: Rule = {
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

/** A field of free text: what is not a state may be anything, such as a street. */
export const stateAlone = listed(
  z.enum(uspsStates).meta({ description: 'A USPS state code; other values are omitted', examples: ['NE'] }),
);

export const countryAlone = listed(
  z
    .string()
    .regex(/^[A-Z]{2}$/)
    .meta({ description: 'A two-letter country code; other values are omitted', examples: ['US'] }),
);

/** The decisions on the fields of an address, from the city on. */
export const placeDecisions = {
  city: 'left out',
  state: stateAlone,
  zip_code: 'left out',
  country: countryAlone,
} as const satisfies Record<string, Decision>;

/** The decisions on the fields of an address. */
export const addressDecisions = {
  address_line_1: 'left out',
  address_line_2: 'left out',
  ...placeDecisions,
} as const satisfies Record<string, Decision>;

/** The rules that decisions on the fields of a shape come to; `kind` is what has them, where ids of it are hashed. */
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

/** What the rules leave of an object's fields. A cleared field (`null`) is shown as cleared. */
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

/** What `showFields` makes of an object that `base` describes: no other field, and `null` only where `base` has it. */
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

/** Names of the fields that the rules show; those of a nested object are dotted. */
export function shownNames(rules: FieldRules): string[] {
  return Object.entries(rules).flatMap(([field, rule]) => {
    if (rule === 'left out') return [];
    if (rule.fields === undefined) return [field];
    return shownNames(rule.fields).map((inner) => `${field}.${inner}`);
  });
}
