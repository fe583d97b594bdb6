import { z } from 'zod';

/** Returns a field's schema without `null` and without being optional, with the field's description and example. */
export function storedField(field: z.ZodType): z.ZodType {
  let inner = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable)
    inner = inner.unwrap() as z.ZodType;
  const meta = field.meta();
  return meta === undefined || inner === field ? inner : inner.meta(meta);
}
