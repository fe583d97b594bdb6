import { notFound } from '../errors.ts';
import type { RecordedEvent } from '../events/event.ts';
import { type Caller, newEvent } from '../events/newEvent.ts';
import { recordStream } from '../events/streamNames.ts';
import { findEarlier } from '../idempotency/findEarlier.ts';
import { type Evolve, foldStream } from '../reads/foldStream.ts';
import type { CatalogEntry } from '../records/catalog.ts';
import { evolveRecord, type RecordState } from '../records/fold.ts';
import { judgeChange } from '../records/judgeChange.ts';
import { patchRecord as applyPatch } from '../records/patchRecord.ts';
import { qualityWarnings } from '../records/qualityWarnings.ts';
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
  if (earlier) return alreadyPatched(ports, entry, input, earlier);
  let merged: object = {};
  const { version, outcome, changedFields, isSkipped, sent } = await writeJudged(ports, {
    ...{ entry, stream, condition, unchanged, dryRun },
    async fieldsFor(state) {
      if (state === undefined) throw notFound(entry.title);
      const patched = applyPatch(entry, state.fields, input);
      merged = patched.merged;
      if (options.wait) await awaitReferences(ports, workspace, entry, patched.sent, options.wait);
      await checkReferences(ports.existence, workspace, entry, patched.sent);
      return patched.sent;
    },
    newEvent: (fields) => newEvent(caller, entry.eventType, fields),
  });
  return { version, outcome, changedFields, isSkipped, warnings: qualityWarnings(entry, merged, sent) };
}

/** What an earlier try of the same request came to. */
async function alreadyPatched(
  { eventLog }: WritePorts,
  entry: CatalogEntry,
  input: unknown,
  { stream, revision }: RecordedEvent,
): Promise<Written> {
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(entry.kind, state, event);
  const before = (await foldStream(eventLog, stream, evolve, { version: revision })) as RecordState;
  const { merged, sent } = applyPatch(entry, before.fields, input);
  const warnings = qualityWarnings(entry, merged, sent);
  return { version: revision + 1, ...judgeChange(before, sent), isSkipped: false, warnings };
}
