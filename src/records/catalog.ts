import type { z } from 'zod';
import { encounterSchema } from './kinds/encounter.ts';
import { facilitySchema } from './kinds/facility.ts';
import { insuranceFields, patientSchema } from './kinds/patient.ts';
import { payerSchema } from './kinds/payer.ts';
import { providerSchema } from './kinds/provider.ts';

export type RecordKind = 'payer' | 'patient' | 'provider' | 'facility' | 'encounter';

/** A record's fields, as sent or as folded. */
export type RecordFields = Record<string, unknown> & { id: string };

/** A field that must name an existing record of another kind. */
export interface ReferenceField {
  /** Dotted: `primary_insurance.payer_id`. */
  field: string;
  kind: RecordKind;
  /** What it is called where it is missing; default: the kind's title. */
  title?: string;
}

/** All that routes, OpenAPI, projections and the importer need to know of a kind of record. */
export interface CatalogEntry {
  kind: RecordKind;
  /** Name in paths: `/integration/patients`. */
  plural: string;
  title: string;
  description: string;
  eventType: string;
  schema: z.ZodObject;
  references: ReferenceField[];
  /** Values that a field has in the folded record while nobody sent one: a constant, or another field's value. */
  defaults: Record<string, { value: unknown } | { sameAs: string }>;
}

const countryDefault = { country: { value: 'US' } };

/** The kinds, in dependency order: a kind comes after all those that it refers to (spec section 1). */
export const catalog: readonly CatalogEntry[] = [
  {
    kind: 'payer',
    plural: 'payers',
    title: 'Payer',
    description: 'An insurance company or programme that pays claims.',
    eventType: 'PayerUpserted',
    schema: payerSchema,
    references: [],
    defaults: countryDefault,
  },
  {
    kind: 'patient',
    plural: 'patients',
    title: 'Patient',
    description: 'A person who receives care, with up to three insurances.',
    eventType: 'PatientUpserted',
    schema: patientSchema,
    references: insuranceFields.map((field) => ({ field: `${field}.payer_id`, kind: 'payer' as const })),
    defaults: countryDefault,
  },
  {
    kind: 'provider',
    plural: 'providers',
    title: 'Provider',
    description: 'A person who gives care.',
    eventType: 'ProviderUpserted',
    schema: providerSchema,
    references: [],
    defaults: countryDefault,
  },
  {
    kind: 'facility',
    plural: 'facilities',
    title: 'Facility',
    description: 'A place where care is given.',
    eventType: 'FacilityUpserted',
    schema: facilitySchema,
    references: [],
    defaults: countryDefault,
  },
  {
    kind: 'encounter',
    plural: 'encounters',
    title: 'Encounter',
    description: 'A patient visit.',
    eventType: 'EncounterUpserted',
    schema: encounterSchema,
    references: [
      { field: 'patient_id', kind: 'patient' },
      { field: 'provider_id', kind: 'provider' },
      { field: 'rendering_provider_id', kind: 'provider', title: 'Rendering provider' },
      { field: 'facility_id', kind: 'facility' },
    ],
    defaults: { rendering_provider_id: { sameAs: 'provider_id' } },
  },
];

const byKind = new Map(catalog.map((entry) => [entry.kind, entry]));

/** The catalog's entry of a kind. */
export function catalogEntry(kind: RecordKind): CatalogEntry {
  return byKind.get(kind) as CatalogEntry;
}
