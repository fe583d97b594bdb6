import type { RecordedEvent } from '../../../domain/events/event.ts';
import { type Caller, newEvent } from '../../../domain/events/newEvent.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../../domain/records/fold.ts';
import { judgeChange } from '../../../domain/records/judgeChange.ts';
import { patchRecord as applyPatch } from '../../../domain/records/patchRecord.ts';
import { type FieldMessage, notFound } from '../../../platform/errors.ts';
import { findEarlier } from '../../idempotency/findEarlier.ts';
import { type Evolve, foldStream } from '../queries/foldStream.ts';
import { awaitReferences, checkReferences } from './checkReferences.ts';
import type { WriteOptions, WritePorts, Written } from './upsertRecord.ts';
import { writeJudged } from './writeJudged.ts';

/**
 * Changes a record by a JSON Merge Patch (RFC 7396), in one event of the same type as an upsert's. Durable when it resolves.
 * Rejects as `upsertRecord` does, with `not_found` when the record does not exist or was erased, and with `unreadable`.
 */
export async function patchRecord(
  ports: WritePorts,
  caller: Caller,
  entry: CatalogEntry,
  id: string,
  input: unknown,
  options: WriteOptions = {},
): Promise<Written> {
  const { condition = 'any', dryRun = false, unchanged = 'append' } = options;
  const { workspace } = caller;
  const stream = recordStream(workspace, entry.kind, id);
  const earlier = await findEarlier(ports.eventLog, stream, caller);
  const toWarnings = (merged: object, sent: RecordFields, record: RecordFields) =>
    ports.warnings(workspace, entry, merged, sent, record);
  if (earlier) return alreadyPatched(ports, entry, input, earlier, toWarnings);
  let merged: object = {};
  const { version, outcome, changedFields, isSkipped, sent, fields } = await writeJudged(ports, {
    ...{ entry, stream, condition, unchanged, dryRun },
    async fieldsFor(state) {
      if (state === undefined) throw notFound(entry.title);
      const patched = applyPatch(entry, state.fields, input);
      merged = patched.merged;
      if (options.wait) await awaitReferences(ports, caller, entry, patched.sent, options.wait);
      await checkReferences(ports.existence, workspace, entry, patched.sent);
      return patched.sent;
    },
    newEvent: (data) => newEvent(caller, entry.eventType, data),
  });
  return { version, outcome, changedFields, isSkipped, warnings: toWarnings(merged, sent, fields) };
}

/** Returns the result of an earlier try of the same request. */
async function alreadyPatched(
  { eventLog }: WritePorts,
  entry: CatalogEntry,
  input: unknown,
  { stream, revision }: RecordedEvent,
  toWarnings: (merged: object, sent: RecordFields, record: RecordFields) => FieldMessage[],
): Promise<Written> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(entry.kind, state, event);
  const before = (await foldStream(eventLog, stream, evolve, { version: revision })) as RecordState;
  const { merged, sent } = applyPatch(entry, before.fields, input);
  const { fields, ...judged } = judgeChange(before, sent);
  return { version: revision + 1, ...judged, isSkipped: false, warnings: toWarnings(merged, sent, fields) };
}
