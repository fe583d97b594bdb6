import type { ServiceError } from '../../errors.ts';
import type { NewEvent } from '../../events/event.ts';
import type { Appended, ExpectedRevision } from '../../ports/eventLog.ts';
import { eventTooLarge, versionConflict } from '../../ports/eventLogRefusals.ts';
import { type Driver, WrongStreamEnd } from './drivers/Driver.ts';
import { isDriverError } from './drivers/isDriverError.ts';
import { toPosition } from './recordedEvent.ts';

const encoder = new TextEncoder();

/**
 * Tries once to append an event; rejects with a `ServiceError` when the server refuses it. Returns undefined when the stream held
 * the event, which was removed since: the server recognizes the repeat, but does not know the position any more.
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
    throw refusal(error) ?? error;
  }
}

function refusal(error: unknown): ServiceError | undefined {
  if (isDriverError(error, 'maximum-append-size-exceeded')) return eventTooLarge();
  if (!(error instanceof WrongStreamEnd)) return undefined;
  return versionConflict(error.actual === undefined ? 0n : error.actual + 1n);
}
