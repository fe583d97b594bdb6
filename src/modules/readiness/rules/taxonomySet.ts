import { dataAs, type RecordedEvent } from '../../../domain/events/event.ts';
import { codeSetStream } from '../../../domain/events/streamNames.ts';
import { upcast } from '../../../domain/events/upcast.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from '../../records/queries/foldStream.ts';

/** The name, among code sets, of the taxonomy of providers published by NUCC. */
export const TAXONOMY = 'nucc';

/** The type of the events that load a code set. */
export const CODE_SET_LOADED = 'CodeSetLoaded';

/** Data of `CodeSetLoaded`. */
export interface CodeSetLoaded {
  set: typeof TAXONOMY;
  codes: string[];
  /** What its publisher calls it: `26.0`. */
  release?: string;
}

/** The set, as loaded for the whole installation. */
export interface TaxonomySet {
  event: Pick<RecordedEvent, 'id' | 'position' | 'revision' | 'recordedAt' | 'metadata'>;
  codes: ReadonlySet<string>;
  release?: string | undefined;
}

interface TaxonomySets {
  version: number;
  /** All that were loaded; the last one counts. */
  sets: readonly TaxonomySet[];
}

/** What was read from the streams, so that a set is read once. */
const known = new WeakMap<EventLog, TaxonomySets>();

/** Folds the next event of the set's stream; the given state is not changed. Throws an `UnreadableError`. */
export function evolveTaxonomySets(state: TaxonomySets | undefined, event: RecordedEvent): TaxonomySets {
  const { codes, release } = dataAs<CodeSetLoaded>(upcast(event).data);
  const { id, position, revision, recordedAt, metadata } = event;
  const set = { event: { id, position, revision, recordedAt, metadata }, codes: new Set(codes), release };
  return { version: revision + 1, sets: [...(state?.sets ?? []), set] };
}

/**
 * Resolves with every taxonomy set that was loaded, oldest first, as of everything acknowledged before the call: only
 * what is new since the last call is read. Rejects with `unavailable` and `unreadable`.
 */
export async function readTaxonomySets(eventLog: EventLog): Promise<readonly TaxonomySet[]> {
  const state = await foldStream(eventLog, codeSetStream(TAXONOMY), evolveTaxonomySets, {
    state: known.get(eventLog),
  });
  if (state === undefined) return [];
  known.set(eventLog, state);
  return state.sets;
}
