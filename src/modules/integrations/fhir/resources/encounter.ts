import { z } from 'zod';
import {
  codeableConceptSchema,
  codingSchema,
  codingsOf,
  dateTimeSchema,
  identifierSchema,
  lastDay,
  listOf,
  ofCodes,
  periodSchema,
  type Reference,
  referenceSchema,
  zoned,
} from './elements.ts';
import {
  type FieldReference,
  type Issue,
  type MappedRecord,
  type MappingContext,
  refused,
  remarked,
} from './issues.ts';

const statuses = [
  'planned',
  'arrived',
  'triaged',
  'in-progress',
  'onleave',
  'finished',
  'cancelled',
  'entered-in-error',
  'unknown',
] as const;

/** A Coding; what other versions of FHIR have here, a text or a list of concepts, is converted to one. */
const classSchema = z.union([
  codingSchema,
  z.string().transform((code) => ({ code })),
  listOf(codeableConceptSchema).transform((classes) => ({ code: classes[0]?.coding?.[0]?.code })),
]);

/** The parts of an Encounter (FHIR R4, 8.11) that are used. */
export const encounterSchema = z.object({
  resourceType: z.literal('Encounter'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  status: z.enum(statuses),
  class: classSchema.optional(),
  type: listOf(codeableConceptSchema).optional(),
  meta: z.object({ lastUpdated: dateTimeSchema.optional() }).optional(),
  subject: referenceSchema.optional(),
  participant: listOf(
    z.object({
      type: listOf(codeableConceptSchema).optional(),
      individual: referenceSchema.optional(),
    }),
  ).optional(),
  period: periodSchema.optional(),
  location: listOf(z.object({ location: referenceSchema, status: z.string().optional() })).optional(),
  serviceProvider: referenceSchema.optional(),
});
type Encounter = z.infer<typeof encounterSchema>;

/**
 * Visit types by the codes of v3-ActCode that FHIR R4 lists for `Encounter.class`, and by those of DSTU2, in
 * capitals; others have none.
 */
const visitTypes = new Map(
  Object.entries({
    AMB: 'outpatient',
    EMER: 'emergency',
    IMP: 'inpatient',
    ACUTE: 'inpatient',
    NONAC: 'inpatient',
    OBSENC: 'observation',
    VR: 'telehealth',
    AMBULATORY: 'outpatient',
    OUTPATIENT: 'outpatient',
    INPATIENT: 'inpatient',
    EMERGENCY: 'emergency',
    VIRTUAL: 'telehealth',
  }),
);

/** Statuses of an encounter that did not take place, or not as recorded. */
const VOID: readonly string[] = ['cancelled', 'entered-in-error'] satisfies Encounter['status'][];

/** Types of participants (v3-ParticipationType): who is responsible for the care, and who gave it. */
const [ATTENDER, PERFORMER] = ['ATND', 'PPRF'];

/** Returns what an Encounter says about an encounter. One that did not take place is void. */
export function mapEncounter(encounter: Encounter, { at, timeZone, mapping }: MappingContext): MappedRecord {
  const { status, class: kind, type = [], subject, period, location, serviceProvider } = encounter;
  const issues: Issue[] = [];
  if (subject === undefined) {
    issues.push(refused('required', 'Encounter.subject', 'Send the patient of the encounter.'));
  }
  const byType = ofCodes(mapping.visit_types, codingsOf(type));
  const byClass = byType ?? (kind && ofCodes(mapping.visit_types, [kind]));
  const visitType = byClass ?? (kind?.code && visitTypes.get(kind.code.toUpperCase()));
  if (kind?.code !== undefined && visitType === undefined) {
    issues.push(
      remarked(
        'not-supported',
        'Encounter.class',
        'No visit type corresponds to this class, so it is ignored.',
      ),
    );
  }
  const attender = participantOf(encounter, ATTENDER);
  const performer = participantOf(encounter, PERFORMER);
  if (attender === undefined && performer === undefined && encounter.participant?.length) {
    const text =
      'No participant with a reference is an attender (ATND) or performer (PPRF), so no provider is set.';
    issues.push(remarked('informational', 'Encounter.participant', text));
  }
  const place = (location?.find(({ status: at }) => at !== 'completed') ?? location?.[0])?.location;
  const byOrganization = named('facility_id', 'facility', serviceProvider, 'Encounter.serviceProvider');
  const isTold = place !== undefined && !isNamed({ individual: place });
  if (isTold) {
    const text = 'A location that is named only in text is ignored. Send a reference or an identifier.';
    issues.push(remarked('informational', 'Encounter.location.location', text));
  }
  const byPlace = named('facility_id', 'facility', isTold ? undefined : place, 'Encounter.location.location');
  const references: (FieldReference | undefined)[] = [
    named('patient_id', 'patient', subject, 'Encounter.subject'),
    named('provider_id', 'provider', attender ?? performer, 'Encounter.participant.individual'),
    attender && named('rendering_provider_id', 'provider', performer, 'Encounter.participant.individual'),
    byPlace ? { ...byPlace, otherwise: byOrganization } : byOrganization,
  ];
  return {
    of: 'record',
    kind: 'encounter',
    fields: {
      status,
      is_completed: status === 'finished',
      ...voided(encounter, { at, timeZone }),
      ...(visitType && { visit_type: visitType }),
      ...(period?.start && { date_of_service: zoned(period.start, timeZone) }),
    },
    references: references.filter((one) => one !== undefined),
    origins: byClass && {
      visit_type: { at: byType ? 'Encounter.type' : 'Encounter.class', setting: 'mapping.visit_types' },
    },
    issues,
  };
}

/** Returns since when it is void: FHIR has no moment for that, so its own last one is used. */
function voided(
  { status, period, meta }: Encounter,
  { at, timeZone }: Pick<MappingContext, 'at' | 'timeZone'>,
): Record<string, unknown> {
  if (!VOID.includes(status)) return { voided_at: null, void_reason: null };
  const last = period?.end ?? period?.start ?? meta?.lastUpdated;
  const voided_at = last === undefined ? new Date(at).toISOString() : lastDay(zoned(last, timeZone));
  return { voided_at, void_reason: `Encounter.status is ${status}` };
}

/** Whether a participant is identified. */
function isNamed({ individual }: { individual?: Reference | undefined }): boolean {
  return individual?.reference !== undefined || individual?.identifier?.value !== undefined;
}

function named(
  field: string,
  kind: string,
  reference: Reference | undefined,
  expression: string,
): FieldReference | undefined {
  return reference && { field, kind, reference, expression };
}

/**
 * Returns who participates in that role; without any types, the first person named counts as the one who gave the
 * care.
 */
function participantOf({ participant = [] }: Encounter, code: string | undefined): Reference | undefined {
  const typed = participant
    .filter(isNamed)
    .find(({ type = [] }) => type.some(({ coding = [] }) => coding.some((one) => one.code === code)));
  if (typed) return typed.individual;
  const isUntyped = participant.every(({ type = [] }) => type.length === 0);
  return code === PERFORMER && isUntyped ? participant.find(isNamed)?.individual : undefined;
}
