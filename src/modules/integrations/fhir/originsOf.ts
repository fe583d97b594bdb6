import { fhirRules, IN_PASSING } from '../fhirRules.ts';
import { ruleOf } from '../mappingRule.ts';
import type { Operation } from '../operation.ts';
import type { Origin, Origins } from '../origin.ts';
import { toldFields } from '../toldFields.ts';
import type { FhirEntry } from './FhirEntry.ts';
import type { Interpreted, InterpretedEntry } from './Interpreter.ts';
import { fieldPaths } from './resources/fieldPaths.ts';
import type { MappingContext } from './resources/mapped.ts';
import { placeIn } from './resources/placeIn.ts';

/**
 * Returns where the fields that a message sets come from. A field that the message does not mention has no origin:
 * the record already has it, and an upsert needs it.
 */
export function originsOf(
  { entries, operations }: Interpreted,
  context: MappingContext,
): Map<Operation, Origins> {
  const byOperation = Map.groupBy(entries, ({ operation }) => operation);
  return new Map(
    operations.map((operation) => {
      const tellers = byOperation.get(operation) ?? [];
      const values = toldFields(operation);
      return [
        operation,
        Object.fromEntries(
          values.flatMap(([field, value]) => {
            // What is mentioned in passing is in a single element.
            const origin =
              tellers.length === 0
                ? { at: operation.at, rule: IN_PASSING }
                : originOf(tellers, field, value, context);
            return origin === undefined ? [] : [[field, origin]];
          }),
        ),
      ];
    }),
  );
}

function originOf(
  tellers: readonly InterpretedEntry[],
  field: string,
  value: unknown,
  context: MappingContext,
): Origin | undefined {
  const [outer, inner] = field.split('.') as [string, string | undefined];
  for (const { entry, identity, rank, origins = {} } of tellers.toReversed()) {
    const { type = '' } = identity;
    const isInsurance = rank !== undefined;
    if (isInsurance !== (inner !== undefined) || (isInsurance && rank !== outer)) continue;
    const own = origins[inner ?? outer];
    const setting =
      own?.setting ??
      (outer === 'id' && isByIdSystem(identity, context, value) ? `id_systems.${type}` : undefined);
    const path =
      own?.at ??
      (setting?.startsWith('id_systems') ? `${type}.identifier` : fieldPaths[type]?.[inner ?? outer]);
    if (path === undefined) continue;
    const at = within(entry, placeIn(entry.resource, path, value));
    const rule = ruleOf(fhirRules, type, inner ?? outer)?.name;
    return { at, ...(setting !== undefined && { setting }), ...(rule !== undefined && { rule }) };
  }
  return undefined;
}

function isByIdSystem(
  { type, identifiers }: InterpretedEntry['identity'],
  { idSystems }: MappingContext,
  value: unknown,
): boolean {
  const system = idSystems[type ?? ''];
  return system !== undefined && identifiers.some((one) => one.system === system && one.value === value);
}

/** Returns a place in a resource, expressed from the message downwards. */
function within({ at, line }: FhirEntry, expression: string): string {
  if (line !== undefined) return `line ${line}: ${expression}`;
  return at === '' ? expression : expression.replace(/^[A-Za-z]+/, at);
}
