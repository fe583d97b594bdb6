import type { Position } from '../../domain/events/event.ts';
import { UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { ChangedFields, isUnchanged } from './changedFields.ts';
import { feedLogTypes, logFilter, type Selection, selectedAs } from './cloudEvents.ts';

/** The longest time spent counting. */
const COUNT_MS = 1_000;

/** Events that somebody who reads or receives them has not got yet. */
export interface Backlog {
  count: number;
  /** Whether there are no more: all that is in the log was counted. */
  isExact: boolean;
  /** When the first of them was recorded, milliseconds since 1970; undefined when there is none. */
  oldestAt: number | undefined;
}

/**
 * Counts the events of a selection after a position, up to `most` of them, and as far as the log can be read in a second. Rejects with
 * `unavailable`.
 */
export async function countBacklog(
  eventLog: EventLog,
  selection: Pick<Selection, 'workspace' | 'eventTypes' | 'unchanged'>,
  after: Position,
  most: number,
): Promise<Backlog> {
  const wanted: Backlog = { count: 0, isExact: false, oldestAt: undefined };
  if (after >= (await eventLog.head())) return { ...wanted, isExact: true };
  const eventTypes = new Set(selection.eventTypes);
  const stop = AbortSignal.timeout(COUNT_MS);
  const changedFields = selection.unchanged === 'skip' ? new ChangedFields(eventLog) : undefined;
  for await (const batch of eventLog.follow({ after, filter: logFilter(selection), signal: stop })) {
    const { caughtUp } = batch;
    const events = batch.events.filter(({ type }) => feedLogTypes.has(type));
    const changes = await changedFields?.changes(events);
    for (const [index, event] of events.entries()) {
      const change = changes?.[index];
      const isSkipped = change && !(change instanceof UnreadableError) && isUnchanged(event, change);
      if (isSkipped || !eventTypes.has(selectedAs(event))) continue;
      wanted.oldestAt ??= Date.parse(event.recordedAt);
      wanted.count += 1;
      if (wanted.count === most) return wanted;
    }
    if (caughtUp) return { ...wanted, isExact: true };
  }
  return wanted;
}
