import { z } from 'zod';
import type { FieldMessage } from '../../../platform/errors.ts';
import type { UpcastStep } from '../../events/upcast.ts';
import { type Decision, type FieldRules, rulesOf } from './deidentification.ts';
import type { Check, Checks } from './fieldChecks.ts';
import { referenceOf } from './fields.ts';
import { type NestedObject, nestedIn } from './nestedObject.ts';

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

/** What a kind's file declares; every field needs a decision on what the de-identified view shows of it. */
type Definition<Name extends string, Shape extends z.ZodRawShape> = Pick<
  CatalogEntry,
  'plural' | 'title' | 'description' | 'eventType' | 'doubts'
> & {
  kind: Name;
  /** In display order. The fields' examples make up the kind's sample. */
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

/** Returns the kind that a definition describes, with everything derived from it. */
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
