import type { RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type ErasedVersion, tombstoneTypes } from '../../domain/events/recordErased.ts';
import { recordedNoEarlier } from '../../domain/events/recordedNoEarlier.ts';
import { gone } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

const PAGE = 100;

/**
 * Returns the event of the caller's request if an earlier try appended it to the stream; undefined if none did, without a read if
 * there was no such try. Rejects with `gone` when the event was erased since, `unavailable` and `unreadable`.
 */
export async function findEarlier(
  eventLog: EventLog,
  stream: string,
  { earlier }: Pick<Caller, 'earlier'>,
): Promise<RecordedEvent | undefined> {
  if (earlier === undefined) return undefined;
  const since = recordedNoEarlier(earlier.eventId);
  for (let from: number | undefined; ; ) {
    const options = { direction: 'backwards', limit: PAGE, ...(from !== undefined && { from }) } as const;
    const events = await eventLog.readStream(stream, options);
    for (const event of events) {
      if (event.id === earlier.eventId) {
        earlier.appended = true;
        return event;
      }
      if (erases(event, earlier.eventId)) throw gone('The data written by the request', event.recordedAt);
    }
    const last = events.at(-1);
    if (events.length < PAGE || last === undefined || last.revision === 0) return undefined;
    if (Date.parse(last.recordedAt) < since) return undefined;
    from = last.revision - 1;
  }
}

function erases({ type, data }: RecordedEvent, id: string): boolean {
  return (
    tombstoneTypes.includes(type) && (data.erased as ErasedVersion[]).some(({ event_id }) => event_id === id)
  );
}
