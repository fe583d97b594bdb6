import { bodyOf } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { WriteBase } from '../../../domain/records/fold.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { Append, EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import type { RecordExistence } from './references.ts';

/** Number of events appended together: more would hardly be cheaper, and would delay single appends. */
export const GROUP = 500;

/** What a dry run would append to a record's stream, which accepts it as long as nobody else writes to it. */
export interface ForeseenAppend extends Append {
  entry: CatalogEntry;
  /** Whether the record begins with it. */
  isNew: boolean;
  /** What the record is then. */
  after: WriteBase;
}

/** By the stream; records come after those that they refer to. */
export type ForeseenAppends = Map<string, ForeseenAppend>;

/**
 * Appends what a dry run would have appended, in as few commits as possible. Resolves with the streams to which nothing was
 * appended, as they were changed since, or for any other reason: their records are to be written again. Rejects with `unavailable`;
 * a part may be appended then.
 */
export async function appendForeseen(
  { eventLog, existence }: { eventLog: EventLog; existence: RecordExistence },
  foreseen: ForeseenAppends,
): Promise<Set<string>> {
  const left = new Set(foreseen.keys());
  for (const group of groupsOf(foreseen)) {
    const results = await eventLog.appendEach(group);
    for (const [index, { stream, after }] of group.entries()) {
      const result = results[index];
      if (isUnavailable(result)) throw result;
      if (result instanceof ServiceError) continue;
      existence.remember(stream, after);
      left.delete(stream);
    }
    // What follows may refer to what is missing now.
    if (group.some(({ stream }) => left.has(stream))) break;
  }
  return left;
}

/** Yields groups, none of which has a record that may refer to a new one of the same group: an engine may append them in any order. */
function* groupsOf(foreseen: ForeseenAppends): Generator<ForeseenAppend[]> {
  let group: ForeseenAppend[] = [];
  const created = new Set<string>();
  for (const one of foreseen.values()) {
    if (group.length === GROUP || one.entry.references.some(({ kind }) => created.has(kind))) {
      yield group;
      group = [];
      created.clear();
    }
    if (one.isNew) created.add(one.entry.kind);
    group.push(one);
  }
  if (group.length > 0) yield group;
}

/** Messages about more records are judged by what the log says. */
const MOST_LIKELY = 32;

interface LikelyPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  existence: RecordExistence;
}

/**
 * Resolves with what records of these streams most likely are, undefined for those that most likely do not exist: as this process left
 * them, or as the read model has them. Only an append behind that version, or `areCurrent`, shows whether it is true. Those of which
 * nothing can be known without reading the log are left out.
 */
export async function likelyStates(
  { readModels, existence }: LikelyPorts,
  streams: readonly string[],
): Promise<Map<string, WriteBase | undefined>> {
  const likely = new Map<string, WriteBase | undefined>();
  if (streams.length > MOST_LIKELY) return likely;
  for (const stream of streams) {
    const left = existence.leftAs(stream);
    if (left) likely.set(stream, left);
  }
  const others = streams.filter((stream) => !likely.has(stream));
  if (others.length === 0) return likely;
  try {
    const rows = new Map((await readModels.load(recordsModel, others)).map((row) => [row.id, row]));
    for (const stream of others) {
      const state = bodyOf(rows.get(stream));
      // A record that is known to exist, and is not projected yet, is at a version that is not known.
      if (state || !existence.isKnown(stream)) likely.set(stream, state);
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
  return likely;
}

/** Resolves with whether nothing was appended to these streams behind the versions given. Rejects with `unavailable`. */
export async function areCurrent(
  { eventLog }: Pick<LikelyPorts, 'eventLog'>,
  states: Iterable<[stream: string, state: WriteBase | undefined]>,
): Promise<boolean> {
  for (const [stream, state] of states) {
    const later = await eventLog.readStream(stream, { from: state?.version ?? 0, limit: 1 });
    if (later.length > 0) return false;
  }
  return true;
}
