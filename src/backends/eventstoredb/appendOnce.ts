import type { ServiceError } from '../../errors.ts';
import type { NewEvent } from '../../events/event.ts';
import type { Appended, ExpectedRevision } from '../../ports/eventLog.ts';
import { eventTooLarge, versionConflict } from '../../ports/eventLogRefusals.ts';
import { type Driver, WrongStreamEnd } from './drivers/Driver.ts';
import { isDriverError } from './drivers/isDriverError.ts';
import { toPosition } from './recordedEvent.ts';

const encoder = new TextEncoder();

/** Tries once to append an event; rejects with a `ServiceError` when the server refuses it. */
export async function appendOnce(
  driver: Driver,
  stream: string,
  { id, type, data, metadata }: NewEvent,
  expected: ExpectedRevision,
): Promise<Appended> {
  const end = expected === 'any' ? 'any' : expected === 'none' ? 'no_stream' : BigInt(expected);
  // The driver would convert an object to text, that to base64, and that to bytes, twice.
  const event = { id, type, data, metadata: encoder.encode(JSON.stringify(metadata)) };
  try {
    const appended = await driver.append(stream, event, end);
    return {
      revision: Number(appended.nextExpectedRevision),
      position: toPosition(appended.position),
    };
  } catch (error) {
    throw refusal(error) ?? error;
  }
}

function refusal(error: unknown): ServiceError | undefined {
  if (isDriverError(error, 'maximum-append-size-exceeded')) return eventTooLarge();
  if (!(error instanceof WrongStreamEnd)) return undefined;
  return versionConflict(error.actual === undefined ? 0n : error.actual + 1n);
}
