import { z } from 'zod';
import {
  type CodeableConcept,
  codeableConceptSchema,
  dateTimeSchema,
  firstDay,
  identifierSchema,
  lastDay,
  listOf,
  periodSchema,
  referenceSchema,
  zonedPeriod,
} from './elements.ts';
import {
  type Mapped,
  type MappedCoverage,
  type MappingContext,
  type NothingMapped,
  refused,
  remarked,
} from './issues.ts';

/** The parts of a Coverage (FHIR R4, 13.1) that are used. */
export const coverageSchema = z.object({
  resourceType: z.literal('Coverage'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  status: z.enum(['active', 'cancelled', 'draft', 'entered-in-error']),
  type: codeableConceptSchema.optional(),
  subscriber: referenceSchema.optional(),
  subscriberId: z.string().optional(),
  beneficiary: referenceSchema.optional(),
  relationship: codeableConceptSchema.optional(),
  period: periodSchema.optional(),
  payor: listOf(referenceSchema).optional(),
  class: listOf(z.object({ type: codeableConceptSchema, value: z.string() })).optional(),
  order: z.int().positive().optional(),
});
type Coverage = z.infer<typeof coverageSchema>;

/** System of the types of coverage for which only the patient pays. */
const SELF_PAY = 'http://terminology.hl7.org/CodeSystem/coverage-selfpay';

/**
 * How the beneficiary is related to the subscriber, by the codes of FHIR's subscriber-relationship, of HL7 v2 (tables
 * 0063, and 0344 with numbers) and of v3-RoleCode, in lower case. Their other codes mean `other`.
 */
const relationships = new Map([
  ...['self', 'sel', 'oneself', 'v2-0344 01'].map((code) => [code, 'self'] as const),
  ...['spouse', 'common', 'spo', 'sps', 'husb', 'wife', 'v2-0344 02'].map(
    (code) => [code, 'spouse'] as const,
  ),
  ...['child', 'chd', 'nch', 'sch', 'fch', 'son', 'dau'].map((code) => [code, 'child'] as const),
  ...['03', '04', '05', '06'].map((code) => [`v2-0344 ${code}`, 'child'] as const),
]);

/** Returns what a Coverage says about its beneficiary's insurance. */
export function mapCoverage(
  coverage: Coverage,
  { timeZone }: Pick<MappingContext, 'timeZone'>,
): MappedCoverage | NothingMapped {
  const { status, subscriber, subscriberId, beneficiary, relationship, payor, order } = coverage;
  const period = coverage.period && zonedPeriod(coverage.period, timeZone);
  if (status === 'draft')
    return left('Coverage.status', 'A draft is not an insurance yet, so it is ignored.');
  if (coverage.type?.coding?.some(({ system }) => system === SELF_PAY)) {
    return left('Coverage.type', 'Self-pay is not an insurance, so it is ignored.');
  }
  const related = relationshipOf(relationship);
  const group = coverage.class?.find(({ type }) => type.coding?.some((one) => one.code === 'group'))?.value;
  const number = memberNumber(coverage) ?? subscriberId;
  const issues = [
    ...(beneficiary === undefined
      ? [refused('required', 'Coverage.beneficiary', 'Send the beneficiary.')]
      : []),
    ...(payor?.[0] === undefined ? [refused('required', 'Coverage.payor', 'Send the payor.')] : []),
  ];
  return {
    of: 'coverage',
    isHearsay: false,
    fields: {
      ...(number && { policy_number: number }),
      ...(group && { group_number: group }),
      ...(period?.start && { effective_date: firstDay(period.start) }),
      ...(period?.end && { termination_date: lastDay(period.end) }),
      ...(related && { subscriber_relationship: related }),
      ...(subscriberId && { subscriber_id: subscriberId }),
    },
    ...{ patient: beneficiary, payors: payor ?? [], subscriber, period, order },
    isActive: status === 'active',
    origins: { ...(!memberNumber(coverage) && { policy_number: { at: 'Coverage.subscriberId' } }) },
    issues,
  };
}

function left(expression: string, text: string): NothingMapped {
  return { of: 'nothing', issues: [remarked('informational', expression, text)] };
}

/** Returns the first known one among its codes, or its text; `other` where there is none. */
function relationshipOf(relationship: CodeableConcept | undefined): string | undefined {
  const { coding = [], text } = relationship ?? {};
  // Numbers are meaningful only together with their system.
  const codes = coding.map(({ system = '', code }) =>
    code && /^\d/.test(code) ? `${system.split('/').at(-1)} ${code}` : code,
  );
  const names = [...codes, text].filter((name) => name !== undefined);
  const known = names.map((name) => relationships.get(name.trim().toLowerCase()));
  return names.length === 0 ? undefined : (known.find((one) => one !== undefined) ?? 'other');
}

/** Returns the member number (v2-0203, `MB`). */
function memberNumber({ identifier = [] }: Coverage): string | undefined {
  return identifier.find(({ type }) => type?.coding?.some(({ code }) => code === 'MB'))?.value;
}

const containedSchema = z.union([coverageSchema, z.looseObject({ resourceType: z.string() })]);

/** The parts of an ExplanationOfBenefit (FHIR R4, 13.10) that are used. */
export const explanationOfBenefitSchema = z.object({
  resourceType: z.literal('ExplanationOfBenefit'),
  id: z.string().optional(),
  contained: listOf(containedSchema).optional(),
  status: z.string().optional(),
  patient: referenceSchema.optional(),
  created: dateTimeSchema.optional(),
  insurer: referenceSchema.optional(),
  insurance: listOf(z.object({ focal: z.boolean().optional(), coverage: referenceSchema })).optional(),
});

/**
 * Returns what an ExplanationOfBenefit says about an insurance: the coverage that it contains, where nobody sends
 * that by itself.
 */
export function mapExplanationOfBenefit(
  { contained = [], patient, created, insurer, insurance = [] }: z.infer<typeof explanationOfBenefitSchema>,
  context: MappingContext,
): Mapped {
  const focal = (insurance.find((one) => one.focal) ?? insurance[0])?.coverage.reference;
  const inside = contained.find(
    ({ resourceType, id }) => resourceType === 'Coverage' && typeof id === 'string' && focal === `#${id}`,
  );
  const coverage = coverageSchema.safeParse(inside);
  if (!coverage.success) {
    const text = 'The contained coverage does not conform to FHIR R4, so it is ignored.';
    const expression = 'ExplanationOfBenefit.contained';
    return { of: 'nothing', issues: inside ? [remarked('invalid', expression, text)] : [] };
  }
  const completed = {
    ...coverage.data,
    beneficiary: coverage.data.beneficiary ?? patient,
    payor: coverage.data.payor ?? (insurer && [insurer]),
  };
  const mapped = mapCoverage(completed, context);
  if (mapped.of === 'nothing') return mapped;
  // Of several, the last one shows the present state.
  const period = mapped.period ?? (created === undefined ? undefined : { start: created });
  const at = 'ExplanationOfBenefit.contained';
  const origins = Object.fromEntries(
    ['payer_id', ...Object.keys(mapped.fields)].map((field) => [field, { at }]),
  );
  return { ...mapped, period, isHearsay: true, origins };
}
