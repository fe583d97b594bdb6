import type { RecordOperation } from '../operation.ts';
import type { MappingContext } from './MappingContext.ts';
import { recordOperation } from './recordOperation.ts';
import type { Segment } from './Segment.ts';
import { type Told, told, unlessCleared } from './Told.ts';

/**
 * Returns where a visit takes place, for the field that refers to it: PV1-39, or the facility of PV1-3, or that of
 * the source.
 */
export function facilityOf(
  { source }: MappingContext,
  visit: Segment | undefined,
): { id: Told | undefined; operations: RecordOperation[] } {
  const named = (field: number, component = 1, subcomponent = 1) =>
    told(visit?.value(field, component, subcomponent), visit?.at(field, component));
  const own = named(39);
  const inMessage = unlessCleared(own) ?? unlessCleared(named(3, 4)) ?? named(3, 4, 2);
  const id = unlessCleared(inMessage) ?? told(source.facility?.id, undefined, 'facility');
  if (id === undefined) return { id: inMessage, operations: [] };
  const name = unlessCleared(inMessage) ?? told(source.facility?.name, undefined, 'facility');
  const at = `PV1^1^${own?.value ? 39 : 3}`;
  return { id, operations: [recordOperation('facility', at, { id, name }, true)] };
}
