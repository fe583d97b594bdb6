import type { Position } from '../../domain/events/event.ts';
import { UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { ChangedFields, isUnchanged } from '../eventStream/ChangedFields.ts';
import { feedLogTypes, selectedAs } from '../eventStream/cloudEvent.ts';
import { logFilter } from '../eventStream/selection.ts';
import { wantedEventTypes } from './wantedEventTypes.ts';
import type { Webhook } from './webhook.ts';

/** The longest time spent counting. */
const COUNT_MS = 1_000;

export interface Wanted {
  count: number;
  /** When the first of them was recorded, milliseconds since 1970; undefined when there is none. */
  oldestAt: number | undefined;
}

/**
 * Counts the events after a position that a webhook wants, up to `most` of them, and as far as the log can be read in
 * a second. Rejects with `unavailable`.
 */
export async function countWanted(
  eventLog: EventLog,
  webhook: Webhook,
  after: Position,
  most: number,
): Promise<Wanted> {
  const wanted: Wanted = { count: 0, oldestAt: undefined };
  if (after >= (await eventLog.head())) return wanted;
  const eventTypes = wantedEventTypes(webhook);
  const filter = logFilter({ workspace: webhook.workspace, eventTypes: [...eventTypes] });
  const stop = AbortSignal.timeout(COUNT_MS);
  const changedFields = webhook.unchanged === 'skip' ? new ChangedFields(eventLog) : undefined;
  for await (const batch of eventLog.follow({ after, filter, signal: stop })) {
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
    if (caughtUp) break;
  }
  return wanted;
}
