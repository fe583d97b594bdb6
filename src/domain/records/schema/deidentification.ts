import { z } from 'zod';
import { referenceOf } from './fields.ts';
import { iso8601 } from './isoDates.ts';
import { uspsStates } from './states.ts';
import { isUs } from './validation.ts';

/** What a rule may know besides the value. */
export interface DeidentifyContext {
  /** The year in which the event was recorded. */
  year: number;
  /** The first three digits of the ZIP codes of which these are shown. */
  zipAreas: ReadonlySet<string>;
  /** How many days earlier the dates of the patient are shown; undefined: only their years are shown. */
  shiftDays: number | undefined;
  /** Returns the keyed hash that stands for an id of a kind. */
  pseudonym(kind: string, id: string): string;
}

/** What the de-identified view shows of a field. */
export interface Rule {
  /** The schema of the shown value, when one is shown. */
  schema: z.ZodType;
  /** Returns the shown value; undefined when this value is left out. `whole`: the object that has the field, with all its fields. */
  show(value: unknown, context: DeidentifyContext, whole: Readonly<Record<string, unknown>>): unknown;
  /** For a nested object: the rules of its fields. */
  fields?: FieldRules;
  /** Whether the field is left out where no `zipAreas` are known. */
  needsZipAreas?: true;
  /** What the limited data set shows instead, where that is more. */
  limited?: Rule;
}

/** The views that leave data out. */
export const narrowedViews = ['limited', 'deidentified'] as const;
/** `limited`: a limited data set (45 CFR 164.514(e)); `deidentified`: Safe Harbor (164.514(b)(2)). */
export type NarrowedView = (typeof narrowedViews)[number];

/** The rules of fields, by name. A field without a rule is left out as well. */
export type FieldRules = Readonly<Record<string, Rule | 'left out'>>;

/** The decision on a field that only a limited data set shows. */
interface OnlyLimited {
  onlyLimited: Rule;
}

/**
 * The decision on a field, for all views: a rule, leaving it out, showing an id or a reference as its keyed hash, showing one of a
 * limited set of values as it is, or showing it in a limited data set only: a date, or a part of an address that 45 CFR
 * 164.514(e)(2) does not name.
 */
export type Decision = Rule | OnlyLimited | 'left out' | 'hashed' | 'shown';

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

/** Shows a date, or a date-time, as it is. */
const wholeDate = listed(
  z
    .string()
    .regex(iso8601)
    .meta({ description: 'A date, or a date and time', examples: ['1984-02-29'] }),
);

/** Returns the calendar date that a date or date-time names, so many days earlier; undefined for anything else. */
function daysBefore(value: string, days: number): string | undefined {
  const [date] = /^\d{4}-\d\d-\d\d/.exec(value) ?? [];
  const at = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setUTCDate(at.getUTCDate() - days);
  return at.toISOString().slice(0, -'T00:00:00.000Z'.length);
}

/**
 * Shows only the year of a date, or a date that is shifted by the days of the patient; in a limited data set, the date. Years are compared, not
 * days: anyone who reaches the age within the event's year already belongs to the group.
 */
export const reducedDate: Rule = {
  schema: z
    .string()
    .regex(/^\d{4}(?:-\d\d-\d\d| or earlier)?$/)
    .meta({
      description:
        'Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped',
      examples: ['1984'],
    }),
  show(value, { year, shiftDays }) {
    const text = String(value);
    const shown = shiftDays === undefined ? /^(\d{4})-/.exec(text)?.[1] : daysBefore(text, shiftDays);
    if (shown === undefined) return undefined;
    const earliest = year - GROUPED_AGE;
    return Number.parseInt(shown, 10) > earliest ? shown : `${earliest} or earlier`;
  },
  limited: wholeDate,
};

/** For a free-text field: what has digits or punctuation may be anything, such as a street. */
export const onlyCity: Decision = {
  onlyLimited: listed(
    z
      .string()
      .regex(/^[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f .'’-]{0,59}$/)
      .meta({ description: 'The name of a town or city; other values are omitted', examples: ['Omaha'] }),
  ),
};

const ZIP_CODE = /^(\d{5})(?:-?\d{4})?$/;

/** What stands for the first digits of all ZIP codes that must not be shown (45 CFR 164.514(b)(2)(i)(B)(2)). */
const OTHER_AREA = '000';

/**
 * Of a US ZIP code, the first three digits, if they are those of an area that is known to have more than 20,000 people (45 CFR
 * 164.514(b)(2)(i)(B)); in a limited data set the first five, as all nine may be those of a single building. `country`: the field with the
 * country of the address.
 */
export function reducedZipCode(country: string): Rule {
  return {
    schema: z
      .string()
      .regex(/^\d{3}$/)
      .meta({
        description:
          'The first three digits, if more than 20,000 people live in their area, otherwise `000`; left out while the workspace has no list of these areas',
        examples: ['681'],
      }),
    show(value, { zipAreas }, whole) {
      const area = ZIP_CODE.exec(String(value))?.[1]?.slice(0, 3);
      if (area === undefined || !isUs(whole[country])) return undefined;
      return zipAreas.has(area) ? area : OTHER_AREA;
    },
    needsZipAreas: true,
    limited: {
      schema: z
        .string()
        .regex(/^\d{5}$/)
        .meta({ description: 'The first five digits; other values are omitted', examples: ['68102'] }),
      show: (value) => ZIP_CODE.exec(String(value))?.[1],
    },
  };
}

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
  city: onlyCity,
  state: onlyState,
  zip_code: reducedZipCode('country'),
  country: onlyCountry,
} as const satisfies Record<string, Decision>;

/** The decisions on the fields of an address. */
export const addressDecisions = {
  address_line_1: 'left out',
  address_line_2: 'left out',
  ...placeDecisions,
} as const satisfies Record<string, Decision>;

/**
 * Returns the rules that the decisions on a shape's fields amount to in a view; `kind` is the kind that has the fields, where
 * its ids are hashed.
 */
export function rulesOf(
  view: NarrowedView,
  shape: z.ZodRawShape,
  decisions: Readonly<Record<string, Decision>>,
  kind?: string,
): FieldRules {
  const isLimited = view === 'limited';
  const ruleOf = ([field, decision]: [string, Decision]): [string, Rule | 'left out'] => {
    const schema = shape[field] as z.ZodType;
    if (decision === 'left out') return [field, decision];
    if (decision === 'shown') return [field, listed(schema)];
    if (decision !== 'hashed') {
      if ('onlyLimited' in decision) return [field, isLimited ? decision.onlyLimited : 'left out'];
      return [field, (isLimited && decision.limited) || decision];
    }
    const hashedKind = field === 'id' ? kind : referenceOf(schema)?.kind;
    if (hashedKind === undefined) throw new Error(`${field} is not an id, and cannot be hashed as one`);
    return [field, hashed(hashedKind)];
  };
  return Object.fromEntries(Object.entries(decisions).map(ruleOf));
}

/**
 * Returns what the rules leave of an object's fields; `whole` is the object with all its fields, where only some are given. A cleared field (`null`)
 * is shown as cleared.
 */
export function showFields(
  rules: FieldRules,
  fields: Record<string, unknown>,
  context: DeidentifyContext,
  whole: Readonly<Record<string, unknown>> = fields,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const field in rules) {
    const rule = rules[field];
    if (rule === undefined || rule === 'left out' || !Object.hasOwn(fields, field)) continue;
    if (rule.needsZipAreas && context.zipAreas.size === 0) continue;
    const value = fields[field] === null ? null : rule.show(fields[field], context, whole);
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

/**
 * Returns the names of the fields that the rules show, with or without those that need `zipAreas`; those of a nested object are
 * dotted.
 */
export function shownNames(rules: FieldRules, hasZipAreas = true): string[] {
  return Object.entries(rules).flatMap(([field, rule]) => {
    if (rule === 'left out' || (rule.needsZipAreas && !hasZipAreas)) return [];
    if (rule.fields === undefined) return [field];
    return shownNames(rule.fields, hasZipAreas).map((inner) => `${field}.${inner}`);
  });
}
