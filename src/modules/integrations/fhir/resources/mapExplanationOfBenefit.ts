import { z } from 'zod';
import { dateTimeSchema, listOf, referenceSchema } from './dataTypes.ts';
import { remarked } from './issue.ts';
import { coverageSchema, mapCoverage } from './mapCoverage.ts';
import type { Mapped, MappingContext } from './mapped.ts';

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
