import { ServiceError } from '../errors.ts';
import type { NewEvent } from '../events/event.ts';
import type { Appended, EventLog } from './eventLog.ts';

/**
 * Appends an event that was decided on by what a stream holds up to a revision, -1 where that is nothing. Undefined, and nothing
 * appended, where the stream goes on behind that: then it is decided again. Rejects as `EventLog.append` does with all else.
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
