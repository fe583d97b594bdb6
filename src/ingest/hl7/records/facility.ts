import type { RecordOperation } from '../../operation.ts';
import type { MappingContext } from '../MappingContext.ts';
import type { Segment, Value } from '../message/Segment.ts';

/** Where a visit takes place, for the field that refers to it: PV1-39, or the facility of PV1-3, or the one of the source. */
export function facilityOf(
  { source }: MappingContext,
  visit: Segment | undefined,
): { id: Value; operations: RecordOperation[] } {
  const id = visit?.value(39) ?? visit?.value(3, 4) ?? visit?.value(3, 4, 2);
  const facility = id ? { id, name: id } : source.facility;
  if (facility === undefined) return { id, operations: [] };
  const { id: facilityId, name } = facility;
  return {
    id: facilityId,
    operations: [
      {
        ...{ type: 'record', kind: 'facility', fields: { id: facilityId, name } },
        ...{ at: `PV1^1^${visit?.value(39) ? 39 : 3}`, ifAbsent: true },
      },
    ],
  };
}
