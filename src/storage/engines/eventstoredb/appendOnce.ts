import type { NewEvent } from '../../../domain/events/event.ts';
import type { Appended, ExpectedRevision } from '../../eventLog.ts';
import { eventTooLarge } from '../../eventLogRefusals.ts';
import type { Driver } from './drivers/Driver.ts';
import { isDriverError } from './drivers/isDriverError.ts';
import { toPosition } from './recordedEvent.ts';

const encoder = new TextEncoder();

/**
 * Tries once to append an event; rejects with `WrongStreamEnd` when the stream ends elsewhere, and with a `ServiceError` when the
 * server refuses the event. Returns undefined when the stream held the event, which was removed since: the server recognizes the
 * repeat, but does not know the position any more.
 */
export async function appendOnce(
  driver: Driver,
  stream: string,
  { id, type, data, metadata }: NewEvent,
  expected: ExpectedRevision,
): Promise<Appended | undefined> {
  const end = expected === 'any' ? 'any' : expected === 'none' ? 'no_stream' : BigInt(expected);
  // The driver would convert an object to text, that to base64, and that to bytes, twice.
  const event = { id, type, data, metadata: encoder.encode(JSON.stringify(metadata)) };
  try {
    const { nextExpectedRevision, position } = await driver.append(stream, event, end);
    return position && { revision: Number(nextExpectedRevision), position: toPosition(position) };
  } catch (error) {
    throw isDriverError(error, 'maximum-append-size-exceeded') ? eventTooLarge() : error;
  }
}
