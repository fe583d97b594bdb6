import { z } from 'zod';

/** Returns the names of a schema's fields, those of objects within it dotted; for a list, those of its items. */
export function fieldNames(schema: unknown): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return fieldNames(schema.unwrap());
  if (schema instanceof z.ZodArray) return fieldNames(schema.element);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(fieldNames);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, field]) => [
    name,
    ...fieldNames(field).map((inner) => `${name}.${inner}`),
  ]);
}
