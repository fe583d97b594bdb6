import { z } from 'zod';

/** A FHIR code: what it allows is checked where it matters. */
const code = z.string();

/** For an array: more than any resource has, and few enough to report what is wrong with each. */
const MAX_ELEMENTS = 1000;

/**
 * Returns the schema of an array of elements (FHIR R4, 2.6.2.2); an array that is too long is refused before its
 * elements are looked at.
 */
export function listOf<Element extends z.ZodType>(element: Element, most = MAX_ELEMENTS) {
  return z.array(z.unknown()).max(most).pipe(z.array(element));
}

/** An array of texts; a text that has only extensions is `null` in it (FHIR R4, 2.6.2.3). */
export const textsSchema = listOf(z.string().nullable()).transform((texts) =>
  texts.filter((text): text is string => Boolean(text?.trim())),
);

const MONTH = '-(?:0[1-9]|1[0-2])';
const DAY = '-(?:0[1-9]|[12]\\d|3[01])';
const TIME =
  'T(?:[01]\\d|2[0-3]):[0-5]\\d(?::(?:[0-5]\\d|60)(?:\\.\\d{1,12})?)?(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)?';

/** FHIR R4, 2.24.0.1: a date of any precision, or with a time. */
export const dateTimeSchema = z.string().regex(new RegExp(`^\\d{4}(?:${MONTH}(?:${DAY}(?:${TIME})?)?)?$`));

/** FHIR R4, 2.24.0.12: a time span; either end may be open. */
export const periodSchema = z.object({ start: dateTimeSchema.optional(), end: dateTimeSchema.optional() });
export type Period = z.infer<typeof periodSchema>;

export const codingSchema = z.object({
  system: z.string().optional(),
  code: code.optional(),
  display: z.string().optional(),
});

export const codeableConceptSchema = z.object({
  coding: listOf(codingSchema).optional(),
  text: z.string().optional(),
});
export type CodeableConcept = z.infer<typeof codeableConceptSchema>;

export const identifierSchema = z.object({
  use: code.optional(),
  type: codeableConceptSchema.optional(),
  system: z.string().optional(),
  value: z.string().trim().optional(),
  period: periodSchema.optional(),
});
export type Identifier = z.infer<typeof identifierSchema>;

export const humanNameSchema = z.object({
  use: code.optional(),
  text: z.string().optional(),
  family: z.string().optional(),
  given: textsSchema.optional(),
  period: periodSchema.optional(),
});
export type HumanName = z.infer<typeof humanNameSchema>;

export const contactPointSchema = z.object({
  system: code.optional(),
  value: z.string().optional(),
  use: code.optional(),
  rank: z.int().positive().optional(),
  period: periodSchema.optional(),
});
export type ContactPoint = z.infer<typeof contactPointSchema>;

export const addressSchema = z.object({
  use: code.optional(),
  type: code.optional(),
  line: textsSchema.optional(),
  city: z.string().optional(),
  state: z.string().optional(),
  postalCode: z.string().optional(),
  country: z.string().optional(),
  period: periodSchema.optional(),
});
export type Address = z.infer<typeof addressSchema>;

/** FHIR R4, 2.29: a reference to a resource by its address, or by one of its identifiers. */
export const referenceSchema = z.object({
  reference: z.string().optional(),
  type: z.string().optional(),
  identifier: identifierSchema.optional(),
  display: z.string().optional(),
});
export type Reference = z.infer<typeof referenceSchema>;
