import type { RecordOperation } from '../operation.ts';
import { isOf } from './assignedBy.ts';
import type { MappingContext } from './MappingContext.ts';
import { recordOperation } from './recordOperation.ts';
import type { Repetition, Segment } from './Segment.ts';
import { type Told, told, unlessCleared } from './Told.ts';

/** As named by assigning authorities (HD) and types of identifiers (table 0203). */
const NPI = 'NPI';
const NPI_SYSTEM = '2.16.840.1.113883.4.6';

/** What a field of people (XCN) says about a provider. */
export interface NamedProvider {
  /** The provider's id, for the field that refers to it. */
  id: Told | undefined;
  operations: RecordOperation[];
}

/**
 * Returns the first provider that a field names; further identifiers of the same person are repetitions with the same
 * name, or with none.
 */
export function providerOf(
  context: MappingContext,
  segment: Segment | undefined,
  field: number,
): NamedProvider {
  const [person, ...others] = segment?.repetitions(field) ?? [];
  if (segment === undefined || person === undefined) return { id: undefined, operations: [] };
  const [id, last, first] = [1, 2, 3].map((component) => told(person.value(component), person.at(component)));
  if (id === undefined) {
    context.warn('101', segment.at(field, 1, person.number), 'A provider without an identifier is ignored.');
  }
  if (!id?.value || !first?.value || !last?.value) return { id, operations: [] };
  const same = others.filter(
    (one) => one.value(2) === undefined || (one.value(2) === last.value && one.value(3) === first.value),
  );
  const numbered = [person, ...same].find(isNpi);
  const npi = told(numbered?.value(1), numbered?.at(1));
  const fields = { id: unlessCleared(id), first_name: first, last_name: last, npi };
  return { id, operations: [recordOperation('provider', segment.at(field), fields, true)] };
}

function isNpi(person: Repetition): boolean {
  const isTyped = person.value(13) === NPI || isOf(NPI, person, 9) || isOf(NPI_SYSTEM, person, 9);
  return isTyped && /^\d{10}$/.test(person.value(1) ?? '');
}
