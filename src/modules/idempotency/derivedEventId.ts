import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { eventIdTime } from '../../domain/events/eventIdTime.ts';

/**
 * Returns the id of a further event of the same request: always the same for the same first event and `place` (1, 2, 3 …; or any
 * text), and otherwise unique. A UUID of version 7 with the time of the first one.
 */
export function derivedEventId(eventId: string, place: number | string): string {
  const random = createHash('sha256').update(`${eventId}\n${place}`).digest();
  return uuidv7({ msecs: eventIdTime(eventId), random });
}
