import type { RecordOperation } from '../../operation.ts';
import { inTable, mappingPlaces } from '../../sources/mapping.ts';
import type { Hl7Source } from '../hl7Source.ts';
import type { MappingContext } from '../MappingContext.ts';
import type { Segment, Value } from '../message/Segment.ts';
import { assignedBy } from '../values/assignedBy.ts';
import { type Place, placeOf } from '../values/placeOf.ts';
import { given, said } from '../values/said.ts';
import { facilityOf } from './facility.ts';
import { providerOf } from './provider.ts';

/** HL7 table 0004, and `OBS`, which many add to it. Other codes have no visit type. */
const VISIT_TYPES: Partial<Record<string, string>> = {
  ...{ E: 'emergency', I: 'inpatient', B: 'inpatient' },
  ...{ O: 'outpatient', R: 'outpatient', OBS: 'observation' },
};

/** Codes of it that say nothing: not applicable, unknown. */
const WITHOUT_CLASS = new Set(['N', 'U']);

/** Where the number of a visit stands. */
function visitPlaceOf({ mapping }: Hl7Source): Place {
  return placeOf(mapping?.visit_id ?? mappingPlaces.visit_id[0]);
}

/** The same, as an issue's `location` has it. */
export function visitLocationOf({ source }: MappingContext): string {
  const { segment, field } = visitPlaceOf(source);
  return `${segment}^1^${field}`;
}

/** The number of the visit that a message is about (PV1-19, or where the source has it); undefined where it names none. */
export function visitIdOf({ message, source }: MappingContext): string | undefined {
  const { segment, field } = visitPlaceOf(source);
  const numbers = message.first(segment)?.repetitions(field) ?? [];
  return (assignedBy(source.visit_authority, numbers) ?? numbers[0])?.value(1) ?? undefined;
}

/** The same of a message that has to name one, which is an error otherwise. */
export function requiredVisitIdOf(context: MappingContext): string | undefined {
  const id = visitIdOf(context);
  if (id === undefined) context.refuse('101', visitLocationOf(context), "Send the visit's number.");
  return id;
}

/** What an event says of a visit, beyond its PV1. */
export interface VisitFields {
  status?: string;
  is_completed?: boolean;
  date_of_service?: Value;
  rendering_provider_id?: Value;
  voided_at?: Value;
  void_reason?: Value;
}

/** What a message says of a visit and of who and what takes part in it, those first. */
export function encounterOf(
  context: MappingContext,
  ids: { id: string; patient_id: string },
  more: VisitFields,
  how?: 'ifAbsent',
): RecordOperation[] {
  const visit = context.message.first('PV1');
  const attending = providerOf(context, visit, 7);
  const facility = facilityOf(context, visit);
  const fields = {
    ...ids,
    provider_id: attending.id,
    facility_id: facility.id,
    visit_type: visitTypeOf(context, visit),
    date_of_service: context.moment(visit, 44),
    ...said({ ...more }),
  };
  return [
    ...attending.operations,
    ...facility.operations,
    {
      ...{ type: 'record', kind: 'encounter', at: 'PV1^1' },
      fields: how === 'ifAbsent' ? given(fields) : said(fields),
      ...(how === 'ifAbsent' && { ifAbsent: true }),
    },
  ];
}

/** That a visit does not take place. */
export function voided(
  ids: { id: string; patient_id: string },
  fields: { voided_at: string; void_reason: string },
): RecordOperation {
  return { type: 'record', kind: 'encounter', fields: { ...ids, ...fields }, at: 'PV1^1' };
}

function visitTypeOf(context: MappingContext, visit: Segment | undefined): Value {
  const code = visit?.value(2);
  if (visit === undefined || code === undefined || code === null) return code;
  const ownType = inTable(context.source.mapping?.visit_types, code);
  if (ownType === undefined && WITHOUT_CLASS.has(code)) return undefined;
  const type = ownType ?? VISIT_TYPES[code.toUpperCase()];
  if (type === undefined)
    context.warn('103', visit.at(2), 'No visit type corresponds to this class: it is left out.');
  return type;
}
