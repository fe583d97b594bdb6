import { recordStream } from '../../../domain/events/streams.ts';
import type { Operation, RecordOperation } from '../operations.ts';
import type { IngestPorts } from '../writes.ts';
import type { Hl7Issue } from './parser.ts';

const fields = ['provider_id', 'rendering_provider_id'] as const;

/** Returns the fields by which an operation names providers, with their ids. */
function namedBy(operation: RecordOperation): [field: string, id: string][] {
  if (operation.kind !== 'encounter') return [];
  return fields.flatMap((field): [string, string][] => {
    const id = operation.fields[field];
    return typeof id === 'string' ? [[field, id]] : [];
  });
}

/**
 * Returns the operations of a message without the providers of encounters that do not exist, and that the message does not name in full,
 * with a remark on each: a visit counts, although its doctor was not sent yet. Rejects with `unavailable`.
 */
export async function withoutUnknownProviders(
  { existence }: Pick<IngestPorts, 'existence'>,
  workspace: string,
  operations: readonly Operation[],
): Promise<{ operations: Operation[]; issues: Hl7Issue[] }> {
  const records = operations.filter((one) => one.type === 'record');
  const streamOf = (id: string) => recordStream(workspace, 'provider', id);
  const created = new Set(records.filter(({ kind }) => kind === 'provider').map((one) => one.fields.id));
  const asked = records.flatMap(namedBy).filter(([, id]) => !created.has(id));
  const missing = await existence.missing([...new Set(asked.map(([, id]) => streamOf(id)))]);
  const issues: Hl7Issue[] = [];
  const known = operations.map((one) => {
    const unknown =
      one.type === 'record'
        ? namedBy(one).filter(([, id]) => !created.has(id) && missing.has(streamOf(id)))
        : [];
    for (const [field] of unknown) issues.push(unknownProvider(one, field));
    if (one.type !== 'record' || unknown.length === 0) return one;
    const names = unknown.map(([field]) => field);
    const kept = Object.entries(one.fields).filter(([field]) => !names.includes(field));
    return { ...one, fields: { ...Object.fromEntries(kept), id: one.fields.id } };
  });
  return { operations: known, issues };
}

function unknownProvider({ at, origins }: Operation, field: string): Hl7Issue {
  return {
    ...{ severity: 'warning', code: '204', location: origins?.[field]?.at ?? at },
    text: `No provider has this id, so encounter.${field} is ignored. Send the provider, or its family and given name.`,
  };
}
