import { dataAs, type RecordedEvent } from '../../../domain/events/event.ts';
import { codeSetStream } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from '../../records/queries/records.ts';

/**
 * The sets that can be loaded for the whole installation: taxonomy codes published by NUCC, NPIs of NPPES, CLIA numbers of
 * CMS, and the payer IDs of a clearinghouse.
 */
export const codeSetNames = ['nucc', 'nppes', 'clia', 'payers'] as const;
export type CodeSetName = (typeof codeSetNames)[number];

/** The type of the events that load a code set. */
export const CODE_SET_LOADED = 'CodeSetLoaded';

/** What a file says: all codes of `nucc` and `payers`; of `nppes` and `clia` what it says of the numbers that records had. */
export interface CodeSetContent {
  codes: string[];
  /** Of `codes`, the NPIs of organizations. */
  organizations?: string[];
  /** Of `codes`, those that have ended, each with the first day on which it no longer applies: `2026-03-14`. */
  ended?: Record<string, string>;
  /** The numbers of records that the file does not have. */
  unknown?: string[];
}

/** Data of `CodeSetLoaded`. */
export interface CodeSetLoaded extends CodeSetContent {
  set: CodeSetName;
  /** What its publisher calls it: `26.0`. */
  release?: string;
}

/** A set, as rules use it. */
export interface CodeSet {
  codes: ReadonlySet<string>;
  organizations: ReadonlySet<string>;
  ended: ReadonlyMap<string, string>;
  unknown: ReadonlySet<string>;
}

/** The latest of each name; those that were never loaded are left out. */
export type CodeSets = Readonly<Partial<Record<CodeSetName, CodeSet>>>;

/** A set that was loaded, and the event that did it. */
export interface LoadedCodeSet extends CodeSet {
  event: Pick<RecordedEvent, 'id' | 'position' | 'revision' | 'recordedAt' | 'metadata'>;
  /** As it was loaded. */
  data: CodeSetLoaded;
}

interface LoadedSets {
  version: number;
  /** Every one that was loaded under a name; the last one counts. */
  sets: readonly LoadedCodeSet[];
}

/** What was read from the streams, so that a set is read once. */
const known = new WeakMap<EventLog, Map<CodeSetName, LoadedSets>>();

/** Returns a set as rules use it. */
export function codeSetOf({ codes, organizations, ended = {}, unknown }: CodeSetContent): CodeSet {
  return {
    codes: new Set(codes),
    organizations: new Set(organizations),
    ended: new Map(Object.entries(ended)),
    unknown: new Set(unknown),
  };
}

/** Folds the next event of a set's stream; the given state is not changed. Throws an `UnreadableError`. */
export function evolveCodeSets(state: LoadedSets | undefined, event: RecordedEvent): LoadedSets {
  const data = dataAs<CodeSetLoaded>(upcast(event).data);
  const { id, position, revision, recordedAt, metadata } = event;
  const set = { event: { id, position, revision, recordedAt, metadata }, data, ...codeSetOf(data) };
  return { version: revision + 1, sets: [...(state?.sets ?? []), set] };
}

/**
 * Resolves with every set that was loaded under a name, oldest first, as of everything acknowledged before the call: only
 * what is new since the last call is read. Rejects with `unavailable` and `unreadable`.
 */
export async function readLoadedSets(
  eventLog: EventLog,
  name: CodeSetName,
): Promise<readonly LoadedCodeSet[]> {
  const all = known.get(eventLog) ?? new Map<CodeSetName, LoadedSets>();
  known.set(eventLog, all);
  const state = await foldStream(eventLog, codeSetStream(name), evolveCodeSets, { state: all.get(name) });
  if (state === undefined) return [];
  all.set(name, state);
  return state.sets;
}

/**
 * Resolves with the latest set of each name, and how many were loaded under each. Rejects as `readLoadedSets` does.
 */
export async function readCodeSets(
  eventLog: EventLog,
): Promise<{ codeSets: CodeSets; codeSetVersions: ReadonlyMap<string, number> }> {
  const loaded = await Promise.all(
    codeSetNames.map(async (name) => [name, await readLoadedSets(eventLog, name)] as const),
  );
  const present = loaded.filter(([, sets]) => sets.length > 0);
  return {
    codeSets: Object.fromEntries(present.map(([name, sets]) => [name, sets.at(-1)])),
    codeSetVersions: new Map(present.map(([name, sets]) => [name, sets.length])),
  };
}
