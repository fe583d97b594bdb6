import { z } from 'zod';
import { principalTypes } from '../../domain/events/event.ts';
import { catalog } from '../../domain/records/catalog.ts';
import {
  type CatalogEntry,
  type NestedObject,
  nestedIn,
  type RecordFields,
} from '../../domain/records/schema/kind.ts';
import type { ErrorCode } from '../../platform/errors.ts';
import { statusOf } from '../server/answer.ts';

export const versionNumber = z
  .int()
  .min(1)
  .meta({ description: 'Number in the history: 1, 2, 3 …; also the `ETag`', examples: [1] });

/**
 * Returns the schema of a field that is `true` wherever it is present. The document has it as a plain boolean: some
 * generators make a type of strings from a boolean with a single value.
 */
export function alwaysTrue(description?: string) {
  const described = ['Always `true`', description].filter(Boolean).join(': ');
  return z.literal(true).meta({ type: 'boolean', description: described });
}

/** Returns a response where something was done and there is nothing else to report; `schema` is its schema's name and description. */
export function doneAnswer(
  description: string,
  schema: { id: string; description: string },
  message: string,
) {
  const fields = { success: alwaysTrue(), message: z.string() };
  return { description, schema: z.object(fields).meta(schema), example: { success: true, message } as const };
}

/** Returns the schema of a moment, as the service writes it. */
export function timestamp(description: string) {
  return z.iso.datetime().meta({ description, examples: ['2026-03-14T09:30:00.000Z'] });
}

/** Returns the schema of a principal, by id and name. */
export function principal(description: string) {
  return z
    .object({
      type: z.enum(principalTypes),
      id: z.string(),
      name: z.string().nullable().meta({ description: 'Name of the key or user; kept after deletion' }),
    })
    .meta({ description });
}

/** Returns the schema of a page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next_page_token: z
      .string()
      .nullable()
      .meta({ description: 'Pass it as `page_token` to get the next page; `null` on the last page' }),
  });
}

/** Returns the schema of a page listed from read models. */
export function listPageOf<Item extends z.ZodType>(item: Item) {
  return pageOf(item).extend({
    unreadable: z.array(z.string()).meta({
      description:
        'Ids of items omitted from this page because this version of the service cannot read an event in ' +
        'their history: a newer version wrote it, or its bytes were changed. Usually empty',
    }),
  });
}

/** `FieldMessage`. */
export const fieldMessageSchema = z
  .object({
    field: z.string().meta({
      description: 'Name of the field, in dot notation if nested',
      examples: ['primary_insurance.payer_id'],
    }),
    message: z.string().meta({ description: 'What to fix; never the value', examples: ['is required'] }),
  })
  .meta({ id: 'FieldMessage', description: 'An error or warning about one field.' });

const errorDetailSchema = fieldMessageSchema
  .extend({
    kind: z
      .enum(catalog.map(({ kind }) => kind))
      .optional()
      .meta({ description: 'Kind of the referenced record that does not exist', examples: ['payer'] }),
    id: z
      .string()
      .optional()
      .meta({ description: 'Id of that record, as sent', examples: ['payer-aetna'] }),
    code: z.literal('reference_not_found').optional().meta({ description: 'For a missing reference' }),
  })
  .meta({ id: 'ErrorDetail', description: 'A field at fault.' });

/** Body of every error response (spec section 7). */
export const errorSchema = z
  .object({
    error: z.string().meta({ description: 'What went wrong, for humans' }),
    code: z
      .enum(Object.keys(statusOf) as [ErrorCode, ...ErrorCode[]])
      .meta({ description: 'What went wrong, for programs' }),
    details: z.array(errorDetailSchema).optional().meta({ description: 'The fields at fault' }),
    statusCode: z
      .literal(401)
      .optional()
      .meta({ type: 'integer', enum: [401], description: 'With status 401' }),
    retryAfter: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'With status 429: seconds until requests are accepted again' }),
    version: versionNumber
      .optional()
      .meta({ description: 'With status 412: the current version, if there is one' }),
    erased_at: timestamp('With `gone`: when it was erased').optional(),
    last_position: z.string().optional().meta({
      description: 'With `position_gone`: the last position in the log before the one that was sent',
    }),
    requestId: z.uuid().meta({ description: 'The `Request-Id`; quote it when contacting the operators' }),
  })
  .meta({ id: 'ErrorBody', description: 'A request that failed.' });

/** Returns `Payers` for `payers`: the tag of a kind, and part of its operations' ids. */
export function tagOf({ plural }: CatalogEntry): string {
  return plural[0]?.toUpperCase() + plural.slice(1);
}

/** Returns `a payer`, `an encounter`. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** Returns a field's schema without `null` and without being optional, with the field's description and example. */
export function storedField(field: z.ZodType): z.ZodType {
  let inner = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable)
    inner = inner.unwrap() as z.ZodType;
  const meta = field.meta();
  return meta === undefined || inner === field ? inner : inner.meta(meta);
}

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

type RecordSchemas = ReturnType<typeof schemasOf>;

const schemas = new Map(catalog.map((entry) => [entry.kind, schemasOf(entry)]));

/** Returns the schemas of a kind. */
export function recordSchemas(kind: string): RecordSchemas {
  return schemas.get(kind) as RecordSchemas;
}
