import { z } from 'zod';
import { documentFieldsSchema, documentFormats } from '../../records/document.ts';
import { encounterSchema } from '../../records/kinds/encounter.ts';
import { facilitySchema } from '../../records/kinds/facility.ts';
import { insuranceFields, insuranceSchema, patientSchema } from '../../records/kinds/patient.ts';
import { providerSchema } from '../../records/kinds/provider.ts';
import { uspsStates } from '../../records/uspsStates.ts';
import type { FeedKind } from './cloudEvent.ts';

/** What a rule may know beside the value. */
export interface DeidentifyContext {
  /** Year in which the event was recorded. */
  year: number;
  /** The keyed hash that stands for an id of a kind. */
  pseudonym(kind: FeedKind, id: string): string;
}

/** What the de-identified view shows of a field. */
export interface Rule {
  /** What is shown, when something is. */
  schema: z.ZodType;
  /** The shown value; undefined when this value is left out. */
  show(value: unknown, context: DeidentifyContext): unknown;
}

/** The decision on every field: a rule, or that it is left out. A field without a decision is left out, too. */
export type FieldRules = Readonly<Record<string, Rule | 'left out'>>;

/** The value of a field of a limited set of values, as it is. */
function listed(schema: z.ZodType): Rule {
  return { schema, show: (value) => (schema.safeParse(value).success ? value : undefined) };
}

export const pseudonymSchema = z
  .string()
  .regex(/^[\w-]{22}$/)
  .meta({ description: 'Keyed hash of the id: equal for equal ids of one kind in one workspace' });

function id(kind: FeedKind): Rule {
  return {
    schema: pseudonymSchema,
    show: (value, { pseudonym }) => (typeof value === 'string' ? pseudonym(kind, value) : undefined),
  };
}

/** Ages from here on are one group, and so are years that would tell such an age (45 CFR 164.514(b)(2)(i)(C)). */
const GROUPED_AGE = 90;

/** Years are compared, not days: who reaches the age within the event's year belongs to the group already. */
const year: Rule = {
  schema: z
    .string()
    .regex(/^\d{4}(?: or earlier)?$/)
    .meta({
      description: 'The year alone; years that tell an age of 90 or more are grouped',
      examples: ['1984'],
    }),
  show(value, context) {
    const [, digits] = /^(\d{4})-/.exec(String(value)) ?? [];
    if (digits === undefined) return undefined;
    const earliest = context.year - GROUPED_AGE;
    return Number(digits) > earliest ? digits : `${earliest} or earlier`;
  },
};

/** A field of free text: what is not a state may be anything, such as a street. */
const state = listed(
  z.enum(uspsStates).meta({ description: 'A USPS state code; others are left out', examples: ['NE'] }),
);

const country = listed(
  z
    .string()
    .regex(/^[A-Z]{2}$/)
    .meta({ description: 'A two-letter country code; others are left out', examples: ['US'] }),
);

/** The spec's common values (section 2.3) of a field of free text. */
const payerType = listed(
  z.enum(['Private', 'Medicare', 'Medicaid', 'Tricare', 'Workers Compensation', 'Self-Pay']),
);

/** The rest of the code, the area of specialization, may tell who it is where few have it. */
const taxonomyClass: Rule = {
  schema: z
    .string()
    .regex(/^[0-9A-Z]{4}$/)
    .meta({ description: 'NUCC classification: the first four characters of the code', examples: ['207Q'] }),
  show: (value) => /^([0-9A-Z]{4})[0-9A-Z]{5}X$/.exec(String(value))?.[1],
};

const place = { city: 'left out', state, zip_code: 'left out', country } as const;
const address = { address_line_1: 'left out', address_line_2: 'left out', ...place } as const;

/** The fields of an insurance. */
export const insuranceRules: FieldRules = {
  payer_id: id('payer'),
  policy_number: 'left out',
  group_number: 'left out',
  effective_date: year,
  termination_date: year,
  subscriber_id: 'left out',
  subscriber_first_name: 'left out',
  subscriber_last_name: 'left out',
  subscriber_relationship: listed(insuranceSchema.shape.subscriber_relationship),
  subscriber_date_of_birth: year,
  subscriber_address_line_1: 'left out',
  subscriber_city: 'left out',
  subscriber_state: state,
  subscriber_zip_code: 'left out',
  subscriber_country: country,
};

/** What the rules leave of an object's fields. A cleared field (`null`) is shown as cleared. */
export function showFields(
  rules: FieldRules,
  fields: Record<string, unknown>,
  context: DeidentifyContext,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const field in rules) {
    const rule = rules[field];
    if (rule === undefined || rule === 'left out' || !Object.hasOwn(fields, field)) continue;
    const value = fields[field] === null ? null : rule.show(fields[field], context);
    if (value !== undefined) shown[field] = value;
  }
  return shown;
}

/** What `showFields` makes of an object that `base` describes: no other field, and `null` only where `base` has it. */
export function shownSchema(rules: FieldRules, base: z.ZodObject): z.ZodObject {
  const shape = Object.entries<z.ZodType>(base.shape).flatMap(([field, original]) => {
    const rule = rules[field];
    if (rule === undefined || rule === 'left out') return [];
    const takes = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;
    let { schema } = rule;
    if (takes(original, null) && !takes(schema, null)) schema = schema.nullable();
    if (takes(original, undefined) && !takes(schema, undefined)) schema = schema.optional();
    return [[field, schema] as const];
  });
  return z.strictObject(Object.fromEntries(shape));
}

/** An insurance as the de-identified view shows it. */
export const shownInsuranceSchema = shownSchema(insuranceRules, insuranceSchema).meta({
  id: 'DeidentifiedInsurance',
  description: 'An insurance of a patient, de-identified.',
});

const insurance: Rule = {
  schema: shownInsuranceSchema,
  show: (value, context) => showFields(insuranceRules, value as Record<string, unknown>, context),
};

/** The fields of every kind. */
export const deidentifiedFields: Readonly<Record<FeedKind, FieldRules>> = {
  patient: {
    id: id('patient'),
    first_name: 'left out',
    last_name: 'left out',
    date_of_birth: year,
    gender: listed(patientSchema.shape.gender),
    phone: 'left out',
    email: 'left out',
    ssn_last4: 'left out',
    ...address,
    ...Object.fromEntries(insuranceFields.map((rank) => [rank, insurance])),
  },
  payer: {
    id: id('payer'),
    name: 'left out',
    payer_code: 'left out',
    payer_type: payerType,
    contact_email: 'left out',
    contact_phone: 'left out',
    fax: 'left out',
    website: 'left out',
    address_line1: 'left out',
    address_line2: 'left out',
    ...place,
  },
  provider: {
    id: id('provider'),
    first_name: 'left out',
    last_name: 'left out',
    npi: 'left out',
    email: 'left out',
    phone: 'left out',
    role: listed(providerSchema.shape.role),
    taxonomy_code: taxonomyClass,
    specialty: 'left out',
    ...address,
  },
  facility: {
    id: id('facility'),
    name: 'left out',
    npi: 'left out',
    facility_type: listed(facilitySchema.shape.facility_type),
    phone: 'left out',
    fax: 'left out',
    email: 'left out',
    tax_id: 'left out',
    clia_number: 'left out',
    ...address,
  },
  encounter: {
    id: id('encounter'),
    patient_id: id('patient'),
    provider_id: id('provider'),
    rendering_provider_id: id('provider'),
    facility_id: id('facility'),
    date_of_service: year,
    visit_type: listed(encounterSchema.shape.visit_type),
    status: 'left out',
    is_completed: listed(encounterSchema.shape.is_completed),
  },
  document: {
    encounter_id: id('encounter'),
    document_id: id('document'),
    category: listed(documentFieldsSchema.shape.category),
    filename: 'left out',
    format: listed(z.enum(Object.keys(documentFormats))),
    size: 'left out',
    sha256: 'left out',
    object_id: 'left out',
  },
};

/** Names of the fields of a kind that the view shows; those of an insurance are dotted. */
export function shownFieldNames(kind: FeedKind): string[] {
  return Object.entries(deidentifiedFields[kind]).flatMap(([field, rule]) => {
    if (rule === 'left out') return [];
    if (rule !== insurance) return [field];
    const inner = Object.keys(insuranceRules).filter((name) => insuranceRules[name] !== 'left out');
    return inner.map((name) => `${field}.${name}`);
  });
}
