import { v7 as uuidv7 } from 'uuid';
import type { EventSource } from '../../../domain/events/eventMetadata.ts';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { patchRecord } from '../../records/commands/patchRecord.ts';
import { upsertRecord, type Written } from '../../records/commands/upsertRecord.ts';
import type { ChangedRecord, MadeRecord, MappingComparison } from './compareMappings.ts';
import type { ReplayPorts } from './resendMessage.ts';

/** A record that was created or corrected, at the resulting version. */
export interface AppliedRecord {
  kind: string;
  id: string;
  outcome: 'created' | 'updated' | 'unchanged';
  version: number;
}

/** The result of applying a comparison. */
export interface AppliedComparison {
  applied: AppliedRecord[];
  /** What was not written, and why: it can be tried again. */
  refused: { kind: string; id: string; text: string }[];
}

/**
 * Appends the result of a comparison, one event per record: first the records to be created, starting with those that
 * others refer to, then the corrections, each conditional on the version that was compared. Every event names the
 * last message that led to it, and the configuration. From then on the messages count as read by that configuration.
 * Rejects with `not_found` where a message no longer exists, and with `unavailable`; a new comparison then finds what
 * is left.
 */
export async function applyComparison(
  ports: ReplayPorts,
  caller: Caller,
  source: Required<Omit<EventSource, 'message'>>,
  { changed, made, taken }: MappingComparison,
): Promise<AppliedComparison> {
  const corrected = changed.filter(({ changes }) => changes.length > 0);
  await relate(ports, caller.workspace, [...made, ...corrected]);
  const result: AppliedComparison = { applied: [], refused: [] };
  const unsettled = new Set<string>();
  const write = async (
    { kind, id, messages }: MadeRecord | ChangedRecord,
    append: (own: Caller) => Promise<Written>,
  ) => {
    const message = messages.at(-1) as string;
    // One of several events of a request, each with an id of its own.
    const earlier = { eventId: uuidv7(), appended: false };
    try {
      const { outcome, version } = await append({ ...caller, earlier, source: { ...source, message } });
      result.applied.push({ kind, id, outcome, version });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'unavailable') throw error;
      result.refused.push({ kind, id, text: error.message });
      for (const one of messages) unsettled.add(one);
    }
  };
  for (const one of made) {
    await write(one, (own) =>
      upsertRecord(ports, own, catalogEntry(one.kind), one.fields, { condition: 'none' }),
    );
  }
  for (const one of corrected) {
    const options = { condition: one.version - 1, unchanged: 'skip' } as const;
    await write(one, (own) => patchRecord(ports, own, catalogEntry(one.kind), one.id, patchOf(one), options));
  }
  for (const id of taken) if (!unsettled.has(id)) await ports.messages.readBy({ id }, source.configuration);
  return result;
}

/** From then on the messages lead to the records, so that erasing one of these finds them. */
async function relate(
  { messages }: ReplayPorts,
  workspace: string,
  records: readonly (MadeRecord | ChangedRecord)[],
): Promise<void> {
  const byMessage = new Map<string, { kind: string; id: string }[]>();
  for (const { kind, id, messages: tellers } of records) {
    for (const message of tellers) {
      byMessage.set(message, [...(byMessage.get(message) ?? []), { kind, id }]);
    }
  }
  for (const [id, about] of byMessage) await messages.relate({ workspace, id }, about);
}

/** Returns the patch (RFC 7396) that corrects a record: for an insurance, including what it no longer has. */
function patchOf({ corrections, changes }: ChangedRecord): Record<string, unknown> {
  const patch = structuredClone(corrections);
  for (const { field, to } of changes) {
    const [outer = '', inner] = field.split('.');
    const nested = patch[outer];
    if (to !== null || inner === undefined || typeof nested !== 'object' || nested === null) continue;
    Object.assign(nested, { [inner]: null });
  }
  return patch;
}
