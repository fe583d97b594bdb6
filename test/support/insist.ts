import type { NewEvent } from '../../src/domain/events/event.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import type { Appended, EventLog } from '../../src/storage/eventLog.ts';

/** Sends an event until it is acknowledged, as a caller does who is told to come back; `refused` is called each time. */
export async function insist(
  log: EventLog,
  stream: string,
  event: NewEvent,
  refused: () => void = () => undefined,
): Promise<Appended> {
  for (;;) {
    try {
      return await log.append(stream, event, 'any');
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error;
      refused();
    }
  }
}
