import { z } from 'zod';
import type { FieldMessage } from '../../../platform/errors.ts';
import type { UpcastStep } from '../../events/upcasting.ts';
import {
  type Decision,
  type FieldRules,
  type NarrowedView,
  type Rule,
  rulesOf,
  showFields,
  shownSchema,
} from './deidentification.ts';
import { referenceOf, unwrapped } from './fields.ts';
import type { Check, Checks } from './validation.ts';

let registered: CatalogEntry[] | undefined = [];

/**
 * Adds a kind to the catalog, after the built-in ones. For a module that is loaded before the service (`node
 * --import`), in each of its threads: the catalog is built once, when it is first imported, and from then on this
 * throws.
 */
export function registerKind(entry: CatalogEntry): void {
  if (registered === undefined) {
    throw new Error(`the kind ${entry.kind} comes too late: the catalog is made. Register it in a preload.`);
  }
  registered.push(entry);
}

/** Returns the registered kinds; no others can be registered afterwards. */
export function registeredKinds(): readonly CatalogEntry[] {
  const kinds = registered ?? [];
  registered = undefined;
  return kinds;
}

/** Fields that belong together within a record; sending the object replaces the earlier one as a whole. */
export interface NestedObject {
  title: string;
  /** What it is: a sentence without its full stop. */
  description: string;
  /** What it replaces when it is sent: `the one of its rank`. */
  replaces: string;
  schema: z.ZodObject;
  /** Of the de-identified view. */
  rules: FieldRules;
  /** What each view shows of it. */
  shown: Readonly<Record<NarrowedView, z.ZodObject>>;
  checks: Checks;
  usedInClaim: UsedInClaim;
}

/** Which fields a claim carries (X12 837P), or decide what it carries: a change of one after billing concerns the claim. */
export type UsedInClaim = Readonly<Record<string, boolean>>;

type NestedDefinition<Shape extends z.ZodRawShape> = Pick<
  NestedObject,
  'title' | 'description' | 'replaces'
> & {
  fields: Shape;
  deidentified: Readonly<Record<keyof NoInfer<Shape>, Decision>>;
  usedInClaim: Readonly<Record<keyof NoInfer<Shape>, boolean>>;
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
  usedInClaim,
  checks,
  ...words
}: NestedDefinition<Shape>) {
  const { title, description, replaces } = words;
  const schema = z
    .object(fields)
    .meta({ id: title, description: `${description}. If sent, it replaces ${replaces} as a whole.` });
  const ruleIn = (view: NarrowedView, meta: { id: string; description: string }) => {
    const rules = rulesOf(view, fields, deidentified);
    const shown = shownSchema(rules, schema).meta(meta);
    return {
      schema: shown,
      show: (value, context) => showFields(rules, value as Record<string, unknown>, context),
      fields: rules,
    } satisfies Rule;
  };
  const limited = ruleIn('limited', {
    id: `Limited${title}`,
    description: `${description}, in a limited data set.`,
  });
  const rule = {
    ...ruleIn('deidentified', { id: `Deidentified${title}`, description: `${description}, de-identified.` }),
    limited,
  };
  const shown = { limited: limited.schema, deidentified: rule.schema };
  const { fields: rules } = rule;
  nestedObjects.set(schema, { ...words, schema, rules, shown, checks: checks as Checks, usedInClaim });
  return { schema, rules, rule, field: schema.nullable().optional() };
}

/** Returns the nested object that a field holds; undefined when it holds a plain value. */
export function nestedIn(field: z.ZodType): NestedObject | undefined {
  return nestedObjects.get(unwrapped(field));
}

/** A record's fields, as sent or as folded. */
export type RecordFields = Record<string, unknown> & { id: string };

/** A field that must name an existing record of another kind. */
export interface ReferenceField {
  /** Dotted path: `primary_insurance.payer_id`. */
  field: string;
  /** The same path in parts: the field's name, preceded by that of the object that holds it, if any. */
  path: readonly string[];
  kind: string;
  /** What the record is called when it is missing; default: the kind's title. */
  title?: string;
}

/** Everything the service needs to know about a kind of record. */
export interface CatalogEntry {
  kind: string;
  /** Name used in paths: `/integration/patients`. */
  plural: string;
  title: string;
  description: string;
  eventType: string;
  /** The steps that bring older versions of the event's data up to the current one, oldest first. */
  upcasts: readonly UpcastStep[];
  schema: z.ZodObject;
  references: readonly ReferenceField[];
  /** The fields that hold objects. */
  nested: readonly { field: string; object: NestedObject }[];
  /** Values that fields have in the folded record until a caller sends one: a constant, or another field's value. */
  defaults: Record<string, { value: unknown } | { sameAs: string }>;
  /** What the de-identified view shows of each field. */
  deidentified: FieldRules;
  /** What a limited data set shows of each field. */
  limited: FieldRules;
  usedInClaim: UsedInClaim;
  /** Checks on the value of a field beyond what the schema demands. */
  checks: Checks;
  /**
   * Returns what is doubtful about the fields taken together. The record itself is not known: it may have what is
   * missing.
   */
  doubts?: (sent: RecordFields) => FieldMessage[];
  /** The field that tells records apart in a list, where that is not their name. */
  listedBy?: string;
  /** The fields by which a list can be filtered, the most selective first. */
  filters: readonly FilterField[];
}

/**
 * How lists are filtered by a field: to records with one `value`, for which the read model keeps lists, or to those
 * within a `range` of dates. Adding a field filtered by `value` requires a new version of the read model of records.
 */
export interface FilterField {
  field: string;
  by: 'value' | 'range';
}

/** What a kind's file declares; every field needs a decision on what the de-identified view shows of it, and whether a claim uses it. */
type KindDefinition<Name extends string, Shape extends z.ZodRawShape> = Pick<
  CatalogEntry,
  'plural' | 'title' | 'description' | 'eventType' | 'doubts'
> & {
  kind: Name;
  /** In display order. The fields' examples make up the kind's sample. */
  fields: Shape;
  deidentified: Readonly<Record<keyof NoInfer<Shape>, Decision>>;
  usedInClaim: Readonly<Record<keyof NoInfer<Shape>, boolean>>;
  checks: { readonly [Field in keyof NoInfer<Shape>]?: Check };
  defaults?: {
    readonly [Field in keyof NoInfer<Shape>]?: { value: unknown } | { sameAs: keyof NoInfer<Shape> };
  };
  upcasts?: readonly UpcastStep[];
  listedBy?: keyof NoInfer<Shape> & string;
  filters?: readonly (FilterField & { field: keyof NoInfer<Shape> & string })[];
};

/** Returns the kind that a definition describes, with everything derived from it. */
export function defineKind<const Name extends string, Shape extends z.ZodRawShape>({
  fields,
  deidentified,
  checks,
  defaults = {},
  upcasts = [],
  filters = [],
  ...rest
}: KindDefinition<Name, Shape>) {
  return {
    ...rest,
    upcasts,
    filters,
    schema: z.object(fields),
    references: referencesIn(fields),
    nested: Object.entries(fields).flatMap(([field, schema]) => {
      const object = nestedIn(schema as z.ZodType);
      return object ? [{ field, object }] : [];
    }),
    defaults: defaults as CatalogEntry['defaults'],
    deidentified: rulesOf('deidentified', fields, deidentified, rest.kind),
    limited: rulesOf('limited', fields, deidentified, rest.kind),
    checks: checks as Checks,
  } satisfies CatalogEntry;
}

function referencesIn(shape: z.ZodRawShape, holder: readonly string[] = []): ReferenceField[] {
  return Object.entries(shape).flatMap(([name, schema]) => {
    const field = schema as z.ZodType;
    const path = [...holder, name];
    const nested = nestedIn(field);
    if (nested) return referencesIn(nested.schema.shape, path);
    const reference = referenceOf(field);
    return reference ? [{ field: path.join('.'), path, ...reference }] : [];
  });
}

const orders = new WeakMap<CatalogEntry, (field: string) => number>();

/**
 * Returns a function that gives the position of a kind's field in the order of its schema; names are dotted inside
 * nested objects.
 */
export function fieldOrder(entry: CatalogEntry): (field: string) => number {
  const known = orders.get(entry);
  if (known) return known;
  const names = Object.entries(entry.schema.shape).flatMap(([name, field]) => {
    const inner = Object.keys(nestedIn(field)?.schema.shape ?? {});
    return [name, ...inner.map((one) => `${name}.${one}`)];
  });
  const places = new Map(names.map((name, place) => [name, place]));
  const order = (field: string) => places.get(field) ?? -1;
  orders.set(entry, order);
  return order;
}

/** Returns what people call a record; undefined when it has no name. */
export function recordName({ name, first_name, last_name }: RecordFields): string | undefined {
  if (typeof name === 'string') return name;
  return [first_name, last_name].filter((part) => typeof part === 'string').join(' ') || undefined;
}
