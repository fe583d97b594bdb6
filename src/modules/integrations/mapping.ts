import { z } from 'zod';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';

/** Codes per table: more than any EMR has that departs from the standard. */
const MAX_CODES = 500;

/** HL7 v2 places from which a field may be taken; the first is the usual one. */
export const mappingPlaces = {
  visit_id: ['PV1-19', 'PV1-50', 'PID-18'],
  policy_number: ['IN1-36', 'IN1-2', 'IN1-49'],
  payer_id: ['IN1-3', 'IN1-2', 'IN1-4'],
} as const;

const organizationKinds = ['payer', 'facility'] as const;

const key = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}*$/u, { error: 'must not contain control characters' });

const options = {
  visit_types: table(z.enum(visitTypes)),
  document_categories: table(documentFieldsSchema.shape.category),
  visit_id: z.enum(mappingPlaces.visit_id).optional(),
  policy_number: z.enum(mappingPlaces.policy_number).optional(),
  payer_id: z.enum(mappingPlaces.payer_id).optional(),
  organization_types: table(z.enum(organizationKinds)),
  organization_ids: table(z.enum(organizationKinds)),
};

/** The names of all options. */
export const mappingOptions = Object.keys(options) as (keyof typeof options)[];

/** Where the usual rules are wrong about an EMR; unknown options are refused, as they would have no effect. */
export const mappingSchema = z.strictObject(options, {
  error: ({ code }) =>
    code === 'unrecognized_keys'
      ? `has an unknown option; the options are ${mappingOptions.join(', ')}`
      : undefined,
});

/**
 * A source's own mapping, in place of the usual rules. Codes are compared exactly as written.
 *
 * - `visit_types`: by PV1-2 (HL7 v2); by a code of `Encounter.type`, otherwise of `Encounter.class` (FHIR).
 * - `document_categories`: by TXA-2 (HL7 v2); by a code of `DocumentReference.type`, otherwise of its `category`
 *   (FHIR).
 * - `visit_id`, `policy_number`, `payer_id` (HL7 v2): where they are.
 * - `organization_ids`, `organization_types` (FHIR): what an Organization is by the id of its record, otherwise by a
 *   code of its type.
 *
 * FHIR codes may have their system as a prefix: `system|code`.
 */
export type Mapping = z.output<typeof mappingSchema>;

/** The options that are only for one format. */
export const mappingsOfFormat = {
  fhir: ['organization_types', 'organization_ids'],
  hl7v2: ['visit_id', 'policy_number', 'payer_id'],
} as const satisfies Record<string, readonly (keyof Mapping)[]>;

/** Returns what is set in a mapping, by option: a place, or a table of codes. */
export function setIn(mapping: Mapping = {}): [option: string, what: string | Record<string, string>][] {
  return Object.entries(mapping).flatMap(([option, what]) => (what === undefined ? [] : [[option, what]]));
}

/** Returns a table's entry for a code; undefined where it has none. */
export function inTable<Entry>(
  entries: Readonly<Record<string, Entry>> | undefined,
  code: string,
): Entry | undefined {
  return entries && Object.hasOwn(entries, code) ? entries[code] : undefined;
}

function table<Entry extends z.ZodType>(entry: Entry) {
  return z
    .record(key, entry)
    .refine((entries) => Object.keys(entries).length <= MAX_CODES, {
      error: `must have at most ${MAX_CODES} codes`,
    })
    .optional();
}
