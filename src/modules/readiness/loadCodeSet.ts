import { isDeepStrictEqual } from 'node:util';
import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { codeSetStream, INSTALLATION, kindPartition, recordIdOf } from '../../domain/events/streams.ts';
import { cliaNumber, npi, passes } from '../../domain/records/schema/validation.ts';
import { appendBehind, type EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/paging.ts';
import {
  CODE_SET_LOADED,
  type CodeSetContent,
  type CodeSetLoaded,
  type CodeSetName,
  readLoadedSets,
} from './rules/codeSets.ts';
import { billedRecord } from './rules/facts.ts';
import { textOf } from './rules/rule.ts';

/** The sets of which only those numbers are kept that records have, and in which fields they have them. */
export const numbersInRecords = {
  nppes: { kinds: ['provider', 'facility'], field: 'npi', isNumber: passes(npi) },
  clia: { kinds: ['facility'], field: 'clia_number', isNumber: passes(cliaNumber) },
} as const;

/**
 * Resolves with the well-formed numbers of a set that the records of these workspaces have, according to the read model. Rejects
 * with `unavailable`.
 */
export async function findNumbers(
  readModels: ReadModels,
  workspaces: Iterable<string>,
  set: keyof typeof numbersInRecords,
): Promise<Set<string>> {
  const { kinds, field, isNumber } = numbersInRecords[set];
  const found = new Set<string>();
  for (const workspace of workspaces) {
    for (const kind of kinds) {
      for await (const row of allRows(readModels, recordsModel, kindPartition(workspace, kind))) {
        const state = bodyOf(row);
        const value = textOf(state && billedRecord(state, recordIdOf(row.id)), field);
        if (value !== undefined && isNumber(value)) found.add(value);
      }
    }
  }
  return found;
}

/**
 * Loads a set for the rules of every workspace; `release` is what its publisher calls it. Appends nothing when the same is loaded
 * already. Rejects with `unreadable`, `unavailable`, and with `payload_too_large` for more than an event holds.
 */
export async function loadCodeSet(
  eventLog: EventLog,
  actor: Actor,
  set: CodeSetName,
  content: CodeSetContent,
  release: string | undefined,
): Promise<void> {
  const data: CodeSetLoaded = { set, ...content, ...(release !== undefined && { release }) };
  for (;;) {
    const last = (await readLoadedSets(eventLog, set)).at(-1);
    if (isDeepStrictEqual(last?.data, data)) return;
    const event = newActorEvent(actor, INSTALLATION, CODE_SET_LOADED, { ...data });
    // Where another set was loaded in between, this is decided again.
    if (await appendBehind(eventLog, codeSetStream(set), event, last?.event.revision ?? -1)) return;
  }
}
