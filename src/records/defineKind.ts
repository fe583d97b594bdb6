import { z } from 'zod';
import type { FieldMessage } from '../errors.ts';
import type { UpcastStep } from '../events/upcast.ts';
import { type Decision, type FieldRules, rulesOf } from './deidentification.ts';
import type { Check, Checks } from './fieldChecks.ts';
import { referenceOf } from './fields.ts';
import { type NestedObject, nestedIn } from './nestedObject.ts';

/** A record's fields, as sent or as folded. */
export type RecordFields = Record<string, unknown> & { id: string };

/** A field that must name an existing record of another kind. */
export interface ReferenceField {
  /** Dotted: `primary_insurance.payer_id`. */
  field: string;
  /** The same in its parts: the name, behind that of the object which holds it, if one does. */
  path: readonly string[];
  kind: string;
  /** What it is called where it is missing; default: the kind's title. */
  title?: string;
}

/** All that the service needs to know of a kind of record. */
export interface CatalogEntry {
  kind: string;
  /** Name in paths: `/integration/patients`. */
  plural: string;
  title: string;
  description: string;
  eventType: string;
  /** What makes older versions of the event's data the current one, oldest first. */
  upcasts: readonly UpcastStep[];
  schema: z.ZodObject;
  references: readonly ReferenceField[];
  /** The fields that hold objects. */
  nested: readonly { field: string; object: NestedObject }[];
  /** Values that a field has in the folded record while nobody sent one: a constant, or another field's value. */
  defaults: Record<string, { value: unknown } | { sameAs: string }>;
  /** What the de-identified view shows of each field. */
  deidentified: FieldRules;
  /** What is looked at in the value of a field beyond what the schema demands. */
  checks: Checks;
  /** What is doubtful about the fields taken together. The record itself is not known: it may have what is missing. */
  doubts?: (sent: RecordFields) => FieldMessage[];
  /** The field that tells records apart in a list, where that is not their name. */
  listedBy?: string;
  /** The fields by which a list is narrowed, those first that leave the fewest. */
  filters: readonly FilterField[];
}

/**
 * How lists are narrowed by a field: to records with one `value`, for which the read model has lists, or to those within a
 * `range` of dates. With another field of values the read model of records needs a new version.
 */
export interface FilterField {
  field: string;
  by: 'value' | 'range';
}

/** What a kind's file says; every field has a decision of what the de-identified view shows of it. */
type Definition<Name extends string, Shape extends z.ZodRawShape> = Pick<
  CatalogEntry,
  'plural' | 'title' | 'description' | 'eventType' | 'doubts'
> & {
  kind: Name;
  /** In the order in which they are shown. An example of each makes the kind's sample. */
  fields: Shape;
  deidentified: Readonly<Record<keyof NoInfer<Shape>, Decision>>;
  checks: { readonly [Field in keyof NoInfer<Shape>]?: Check };
  defaults?: {
    readonly [Field in keyof NoInfer<Shape>]?: { value: unknown } | { sameAs: keyof NoInfer<Shape> };
  };
  upcasts?: readonly UpcastStep[];
  listedBy?: keyof NoInfer<Shape> & string;
  filters?: readonly (FilterField & { field: keyof NoInfer<Shape> & string })[];
};

/** The kind that a definition describes, with all that follows from it. */
export function defineKind<const Name extends string, Shape extends z.ZodRawShape>({
  fields,
  deidentified,
  checks,
  defaults = {},
  upcasts = [],
  filters = [],
  ...rest
}: Definition<Name, Shape>) {
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
    deidentified: rulesOf(fields, deidentified, rest.kind),
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
