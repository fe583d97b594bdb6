import type { RecordFields } from '../../../domain/records/catalog.ts';
import type { RecordOperation } from '../operation.ts';
import type { Origins } from '../origin.ts';
import { Told } from './Told.ts';

/**
 * Fields of a record, as far as something is said about them: `null` clears. Those of an insurance are nested, and
 * written as a whole.
 */
export type ToldFields = Record<string, Told<unknown> | undefined | InsuranceFields>;
export type InsuranceFields = { [field: string]: Told<unknown> | undefined };

/**
 * Returns what a message says about a record. With `ifAbsent` it is written only where none with its id exists, so
 * that nothing needs to be cleared. `at`: where it is said.
 */
export function recordOperation(
  kind: string,
  at: string,
  fields: ToldFields & { id: Told<string> | undefined },
  ifAbsent = false,
): RecordOperation {
  const origins: Origins = {};
  const values = valuesOf(fields, origins, { isWhole: ifAbsent });
  return {
    ...{ type: 'record', kind, fields: values as RecordFields, at, origins },
    ...(ifAbsent && { ifAbsent }),
  };
}

function valuesOf(
  fields: ToldFields,
  origins: Origins,
  { isWhole, within = '' }: { isWhole: boolean; within?: string },
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(fields)) {
    const path = `${within}${name}`;
    if (one instanceof Told) {
      if (one.value === null && isWhole) continue;
      values[name] = one.value;
      origins[path] = one.origin;
    } else if (one !== undefined)
      values[name] = valuesOf(one, origins, { isWhole: true, within: `${path}.` });
  }
  return values;
}
