import {
  ANY,
  type EventStoreDBClient,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type { ServiceError } from '../../errors.ts';
import type { NewEvent } from '../../events/event.ts';
import type { Appended, ExpectedRevision } from '../../ports/eventLog.ts';
import { eventTooLarge, versionConflict } from '../../ports/eventLogRefusals.ts';
import { TIMEOUT_MS } from './attempt.ts';
import { toPosition } from './recordedEvent.ts';

const encoder = new TextEncoder();

/** One try to append an event; rejects with a `ServiceError` when the server refuses it. */
export async function appendOnce(
  client: EventStoreDBClient,
  stream: string,
  { id, type, data, metadata }: NewEvent,
  expected: ExpectedRevision,
): Promise<Appended> {
  const expectedRevision = expected === 'any' ? ANY : expected === 'none' ? NO_STREAM : BigInt(expected);
  // An object the driver would turn into text, that into base64, and that into bytes, twice.
  const event = jsonEvent({ id, type, data, metadata: encoder.encode(JSON.stringify(metadata)) });
  try {
    const appended = await client.appendToStream(stream, event, { expectedRevision, deadline: TIMEOUT_MS });
    return {
      revision: Number(appended.nextExpectedRevision),
      position: toPosition(appended.position),
    };
  } catch (error) {
    throw refusal(error) ?? error;
  }
}

function refusal(error: unknown): ServiceError | undefined {
  if (error instanceof MaxAppendSizeExceededError) return eventTooLarge();
  if (!(error instanceof WrongExpectedVersionError)) return undefined;
  const { actualVersion } = error;
  const version = typeof actualVersion === 'bigint' ? actualVersion + 1n : 0n;
  return versionConflict(version);
}
