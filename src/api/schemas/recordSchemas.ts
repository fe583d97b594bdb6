import { z } from 'zod';
import { type CatalogEntry, catalog, type RecordFields } from '../../domain/records/catalog.ts';
import { type NestedObject, nestedIn } from '../../domain/records/schema/nestedObject.ts';
import { listPageOf, timestamp, versionNumber } from './answerSchemas.ts';
import { storedField } from './storedField.ts';

/** Returns the schema of the fields as folded: none is null, and those with a constant default are always present. */
function stateSchema(schema: z.ZodObject, defaults: CatalogEntry['defaults']): z.ZodObject {
  const fields = Object.entries(schema.shape).map(([name, field]: [string, z.ZodType]) => {
    const rule = defaults[name];
    const always = !field.safeParse(undefined).success || (rule !== undefined && 'value' in rule);
    const nested = nestedIn(field);
    const stored = nested ? nestedState(nested) : storedField(field);
    return [name, always ? stored : stored.optional()];
  });
  return z.object(Object.fromEntries(fields));
}

/**
 * Returns the schema of the fields as sent. The generator cannot express that a named object may be null, but it can
 * for a union with null.
 */
function requestSchema(schema: z.ZodObject): z.ZodObject {
  const fields = Object.entries(schema.shape).map(([name, field]: [string, z.ZodType]) => {
    const stored = storedField(field);
    const nullableObject = stored instanceof z.ZodObject && field.safeParse(null).success;
    return [name, nullableObject ? z.union([stored, z.null()]).optional() : field];
  });
  return z.object(Object.fromEntries(fields));
}

const nestedPatches = new Map<z.ZodType, z.ZodObject>();

/** Returns one schema for each nested object: its fields, none of which are required. */
function nestedPatch({ schema, title, description }: NestedObject): z.ZodObject {
  const known = nestedPatches.get(schema);
  if (known) return known;
  const patch = schema.partial().meta({
    id: `${title}Patch`,
    description: `${description}. Merged into the existing one; if there is none, it must be complete.`,
  });
  nestedPatches.set(schema, patch);
  return patch;
}

/** Returns the schema of a patch, in which only the fields to change are sent. */
function patchSchema(schema: z.ZodObject): z.ZodObject {
  const fields = Object.entries(schema.shape).map(([name, field]: [string, z.ZodType]) => {
    const nested = nestedIn(field);
    return [name, nested ? z.union([nestedPatch(nested), z.null()]).optional() : field.optional()];
  });
  return z.object(Object.fromEntries(fields));
}

const nestedStates = new Map<z.ZodType, z.ZodObject>();

/** Returns one schema for each nested object, however many fields hold one. */
function nestedState({ schema, title, description }: NestedObject): z.ZodObject {
  const known = nestedStates.get(schema);
  if (known) return known;
  const state = stateSchema(schema, {}).meta({
    id: `${title}State`,
    description: `${description}, as stored.`,
  });
  nestedStates.set(schema, state);
  return state;
}

/**
 * Returns the schemas of a kind of record, named as components of the document: what is sent, what is patched, what
 * is read (`RecordView`) and a page of it. All the compiler knows about a record's fields is that they include an id:
 * kinds are data.
 */
function schemasOf({ title, plural, description, schema, defaults }: CatalogEntry) {
  const request = requestSchema(schema).meta({
    id: title,
    description:
      `${description} A field that is left out keeps its value, and \`null\` clears it. Unknown fields ` +
      'are not stored.',
  });
  const patch = patchSchema(schema).meta({
    id: `${title}Patch`,
    description:
      `${description} Only the fields to change: \`null\` clears a field that is not required. \`id\`, if ` +
      'sent, must match the path. Unknown fields are not stored.',
  });
  const state = stateSchema(schema, defaults).meta({
    id: `${title}State`,
    description: `${description} Everything sent so far, merged; fields without a value are omitted.`,
  });
  const view = z
    .object({
      id: schema.shape.id as z.ZodType<string>,
      version: versionNumber,
      created_at: timestamp('When the record was created'),
      updated_at: timestamp('When the record was last sent'),
      record: state as z.ZodType as z.ZodType<RecordFields>,
    })
    .meta({ id: `${title}View`, description: `The ${title.toLowerCase()}, with its version and dates.` });
  const page = listPageOf(view).meta({ id: `${title}Page`, description: `A page of ${plural}.` });
  return { request, patch, view, page };
}

export type RecordSchemas = ReturnType<typeof schemasOf>;

const schemas = new Map(catalog.map((entry) => [entry.kind, schemasOf(entry)]));

/** Returns the schemas of a kind. */
export function recordSchemas(kind: string): RecordSchemas {
  return schemas.get(kind) as RecordSchemas;
}
