import { z } from 'zod';
import {
  type CodeableConcept,
  codeableConceptSchema,
  listOf,
  periodSchema,
  referenceSchema,
} from './dataTypes.ts';
import { inForce } from './inForce.ts';
import { remarked } from './issue.ts';
import type { MappedRole, MappingContext, NothingMapped } from './mapped.ts';

/** The parts of a PractitionerRole (FHIR R4, 8.5) that are used. */
export const practitionerRoleSchema = z.object({
  resourceType: z.literal('PractitionerRole'),
  id: z.string().optional(),
  active: z.boolean().optional(),
  period: periodSchema.optional(),
  practitioner: referenceSchema.optional(),
  code: listOf(codeableConceptSchema).optional(),
  specialty: listOf(codeableConceptSchema).optional(),
});

/** NUCC's set of provider taxonomy codes. */
const TAXONOMY = 'http://nucc.org/provider-taxonomy';

/** Returns what a PractitionerRole says about its provider. */
export function mapPractitionerRole(
  role: z.infer<typeof practitionerRoleSchema>,
  { at }: MappingContext,
): MappedRole | NothingMapped {
  const { practitioner, specialty, code, active } = role;
  const coded = codingOf([...(specialty ?? []), ...(code ?? [])]);
  if (practitioner === undefined) {
    return left('PractitionerRole.practitioner', 'A role without a practitioner is ignored.');
  }
  if (active === false || !inForce(role, at)) {
    return left('PractitionerRole.active', 'A role that is not in force is ignored.');
  }
  if (!coded?.code) {
    return left(
      'PractitionerRole.specialty',
      'A role without a code from the NUCC provider taxonomy is ignored.',
    );
  }
  return {
    of: 'role',
    kind: 'provider',
    practitioner,
    fields: {
      taxonomy_code: coded.code,
      ...(coded.display && { specialty: coded.display }),
    },
    references: [],
    issues: [],
  };
}

function left(expression: string, text: string): NothingMapped {
  return { of: 'nothing', issues: [remarked('informational', expression, text)] };
}

function codingOf(concepts: readonly CodeableConcept[]) {
  return concepts.flatMap(({ coding = [] }) => coding).find(({ system }) => system === TAXONOMY);
}
