import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { referencesNotFound } from '../records/commands/checkReferences.ts';
import { patchRecord } from '../records/commands/patchRecord.ts';
import { upsertRecord, type Written } from '../records/commands/upsertRecord.ts';
import { currentState } from '../records/queries/readRecord.ts';
import type { IngestPorts, OperationResult } from './carryOut.ts';
import type { MergeOperation } from './operation.ts';

/**
 * Records that a patient was merged into another one, unless that is already so. A patient who does not exist is
 * created, with the name and date of birth of the survivor, so that encounters that name that patient are accepted.
 * If the survivor had been merged into that patient before, that merge ends. Rejects with `reference_not_found` where
 * there is no survivor, with `unreadable` and `unavailable`.
 */
export async function writeMerge(
  ports: IngestPorts,
  caller: Caller,
  { id, into }: MergeOperation,
  { dryRun, isForeseen }: { dryRun: boolean; isForeseen: boolean },
): Promise<OperationResult> {
  const { workspace } = caller;
  const stateOf = async (one: string): Promise<RecordState | undefined> => {
    const state = await currentState(ports, patient.kind, recordStream(workspace, patient.kind, one));
    return state?.erased ? undefined : state;
  };
  const survivor = await stateOf(into);
  if (survivor === undefined && !isForeseen) {
    const { kind, title } = patient;
    throw referencesNotFound([{ field: 'merged_into', kind, title, id: into }]);
  }
  const merged = await stateOf(id);
  if (survivor === undefined || dryRun) {
    const outcome = merged === undefined ? 'created' : 'updated';
    return { outcome, version: (merged?.version ?? 0) + 1, warnings: [] };
  }
  const options = { unchanged: 'skip' } as const;
  // One of several events of a request, each with an id of its own.
  const own = () => ({ ...caller, earlier: { eventId: uuidv7(), appended: false } });
  if (await leadsTo(survivor, id, stateOf)) {
    await patchRecord(ports, own(), patient, into, { merged_into: null }, options);
  }
  if (merged) return resultOf(await patchRecord(ports, own(), patient, id, { merged_into: into }, options));
  const { first_name, last_name, date_of_birth } = survivor.fields;
  const fields = { id, first_name, last_name, date_of_birth, merged_into: into };
  return resultOf(await upsertRecord(ports, own(), patient, fields, options));
}

/** Resolves with whether merges lead from a patient to another one. */
async function leadsTo(
  from: RecordState,
  to: string,
  stateOf: (id: string) => Promise<RecordState | undefined>,
): Promise<boolean> {
  const known = new Set<unknown>();
  for (let state: RecordState | undefined = from; state !== undefined; ) {
    const next = state.fields.merged_into;
    if (next === to) return true;
    if (typeof next !== 'string' || known.has(next)) return false;
    known.add(next);
    state = await stateOf(next);
  }
  return false;
}

function resultOf({ outcome, version, warnings }: Written): OperationResult {
  return { outcome, version, warnings };
}
