import type { Source } from '../../source.ts';
import type { MappingContext } from './mapped.ts';

/** Returns how to interpret what a source sends. `at`: when it arrived, in milliseconds since 1970. */
export function contextOf({ id_systems = {}, mapping = {}, time_zone }: Source, at: number): MappingContext {
  return { at, timeZone: time_zone, idSystems: id_systems, mapping };
}
