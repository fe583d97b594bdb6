import type { NewEvent } from '../domain/events/event.ts';
import { ServiceError } from '../platform/errors.ts';
import type { Appended, EventLog } from './eventLog.ts';

/**
 * Appends an event whose decision was based on a stream up to a revision, -1 for an empty stream. Returns undefined, and appends
 * nothing, when the stream has later events: decide again then. Any other rejection is that of `EventLog.append`.
 */
export async function appendBehind(
  eventLog: Pick<EventLog, 'append'>,
  stream: string,
  event: NewEvent,
  revision: number,
): Promise<Appended | undefined> {
  try {
    return await eventLog.append(stream, event, revision === -1 ? 'none' : revision);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'version_conflict') return undefined;
    throw error;
  }
}
