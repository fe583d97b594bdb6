import { z } from 'zod';
import { identifier, requiredName } from '../../domain/records/schema/fields.ts';
import { mappingSchema, mappingsOfFormat } from './mapping.ts';
import { mllpBindingSchema } from './mllpBinding.ts';

/** What a source sends. */
export const sourceFormats = ['fhir', 'hl7v2'] as const;
export type SourceFormat = (typeof sourceFormats)[number];

/** The FHIR resource types that have an id system. */
export const idSystemTypes = [
  'Patient',
  'Coverage',
  'Organization',
  'Location',
  'Practitioner',
  'Encounter',
  'DocumentReference',
] as const;
export type IdSystemType = (typeof idSystemTypes)[number];

/** Used where what is sent has no time zone, and its source has none either. */
export const DEFAULT_TIME_ZONE = 'UTC';

/** How long the messages of a source are kept that has no setting for it. */
export const DEFAULT_RETENTION_DAYS = 90;
const MAX_RETENTION_DAYS = 3_650;

/** Id of the source that applies where a workspace has configured none; no configured source has it. */
export const BUILT_IN_SOURCE = 'default';

const id = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, { error: 'must be 1 to 64 characters: a to z, 0 to 9, _ or -' })
  .refine((value) => value !== BUILT_IN_SOURCE, {
    error: 'must not be default, which is reserved for the source of a workspace that has configured none',
  });

const timeZone = z.string().refine(isTimeZone, {
  error: 'must be a time zone from the IANA database, such as America/Chicago',
});

const system = z
  .string()
  .max(1000)
  .refine((value) => /^\S+$/.test(value) && URL.canParse(value), {
    error: 'must be a URI, such as urn:oid:2.16.840.1.113883.19.5 or https://hospital.example/mrn',
  });

const facilitySchema = z.object({
  id: identifier("The caller's facility identifier", 'facility-3001'),
  name: requiredName('Elm Street Clinic'),
});

/** What a source of a format may have besides what every source has. */
const ownFields = {
  fhir: ['id_systems'],
  hl7v2: ['mllp', 'patient_authority', 'visit_authority', 'facility'],
} as const satisfies Record<SourceFormat, readonly string[]>;

/** The configuration of a source, as validated; `time_zone` may be left out. */
export const sourceSchema = z
  .object({
    id,
    format: z.enum(sourceFormats),
    key: z.string().optional(),
    mllp: mllpBindingSchema.optional(),
    time_zone: timeZone.default(DEFAULT_TIME_ZONE),
    id_systems: z.partialRecord(z.enum(idSystemTypes), system).optional(),
    patient_authority: authority().optional(),
    visit_authority: authority().optional(),
    facility: facilitySchema.optional(),
    mapping: mappingSchema.optional(),
    retention_days: z.int().min(1).max(MAX_RETENTION_DAYS).optional(),
  })
  .superRefine((source, context) => {
    for (const format of sourceFormats) {
      if (format === source.format) continue;
      const foreign: string[][] = [
        ...ownFields[format].filter((name) => source[name] !== undefined).map((name) => [name]),
        ...mappingsOfFormat[format]
          .filter((name) => source.mapping?.[name] !== undefined)
          .map((name) => ['mapping', name]),
      ];
      const message = `is only for sources of the format ${format}`;
      for (const path of foreign) context.addIssue({ code: 'custom', path, message });
    }
  });

/**
 * Describes an EMR that sends FHIR or HL7 v2 to a workspace.
 *
 * - `key`: id of the API key with which it sends over HTTP.
 * - `mllp` (HL7 v2): the connections by which it sends over MLLP. With neither it is the workspace's default source
 *   of its format.
 * - `time_zone`: from the IANA database, for times that are sent without an offset.
 * - `id_systems` (FHIR): by resource type, the system of the identifier that is the record's id.
 * - `patient_authority`, `visit_authority` (HL7 v2): the assigning authority (CX.4) of the identifier in PID-3 and
 *   PV1-19 that is the record's id.
 * - `facility` (HL7 v2): where encounters are that name no facility.
 * - `mapping`: where the usual rules are wrong about this EMR.
 * - `retention_days`: how long its messages are kept as they arrived; default: `DEFAULT_RETENTION_DAYS`.
 */
export type Source = z.output<typeof sourceSchema>;
export type SourceInput = z.input<typeof sourceSchema>;

/** Returns the schema of an assigning authority, as CX.4 names it. */
function authority() {
  return z
    .string()
    .min(1)
    .max(255)
    .regex(/^\P{Cc}*$/u, { error: 'must not contain control characters' });
}

function isTimeZone(name: string): boolean {
  // `Intl` also knows offsets, such as +05:00.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
