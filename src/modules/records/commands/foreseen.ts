import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { Append, EventLog } from '../../../storage/eventLog.ts';
import type { RecordExistence } from './references.ts';

/** Number of events appended together: more would hardly be cheaper, and would delay single appends. */
export const GROUP = 500;

/** What a dry run would append to a record's stream, which accepts it as long as nobody else writes to it. */
export interface ForeseenAppend extends Append {
  entry: CatalogEntry;
  /** Whether the record begins with it. */
  isNew: boolean;
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
    for (const [index, { stream }] of group.entries()) {
      const result = results[index];
      if (isUnavailable(result)) throw result;
      if (result instanceof ServiceError) continue;
      existence.remember(stream);
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
