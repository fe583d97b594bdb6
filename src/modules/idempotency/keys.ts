import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { earliestPossibleTime, eventIdTime, type RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type ErasedVersion, tombstoneTypes } from '../../domain/events/payloads.ts';
import { gone, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

/**
 * Returns the id of a further event of the same request: always the same for the same first event and `place` (1, 2, 3 …; or any
 * text), and otherwise unique. A UUID of version 7 with the time of the first one.
 */
export function deterministicEventId(eventId: string, place: number | string): string {
  const random = createHash('sha256').update(`${eventId}\n${place}`).digest();
  return uuidv7({ msecs: eventIdTime(eventId), random });
}

const PAGE = 100;

/**
 * Returns the event of the caller's request if an earlier try appended it to the stream; undefined if none did, without a read if
 * there was no such try. Rejects with `gone` when the event was erased since, `unavailable` and `unreadable`.
 */
export async function findPreviousAppend(
  eventLog: EventLog,
  stream: string,
  { earlier }: Pick<Caller, 'earlier'>,
): Promise<RecordedEvent | undefined> {
  if (earlier === undefined) return undefined;
  const since = earliestPossibleTime(earlier.eventId);
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

/** The error for a key whose first request is under way. */
export function keyInUse(): ServiceError {
  return new ServiceError(
    'idempotency_key_in_use',
    'The first request with this Idempotency-Key is still in progress. Send the same request again in a moment.',
    { retryAfterSeconds: 1 },
  );
}

/** The error for a key whose first request was a different one. */
export function keyReused(): ServiceError {
  return new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with a different request within the last 24 hours. Use a different key for this request.',
  );
}

/** The error for a payload that cannot be compared with those of its repeats. */
export function nestedTooDeeply(): ServiceError {
  return new ServiceError(
    'malformed_body',
    'The body is nested too deeply for a request with an Idempotency-Key.',
  );
}
