import type { Source } from '../sources/source.ts';
import type { MappingContext } from './mapped.ts';

/** How what a source sends is understood. `at`: when it came, in milliseconds since 1970. */
export function contextOf({ id_systems = {}, mapping = {} }: Source, at: number): MappingContext {
  return { at, idSystems: id_systems, mapping };
}
