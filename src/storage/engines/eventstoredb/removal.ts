import { v5 as uuidv5 } from 'uuid';
import { dataAs, type ErasedEvent, type NewEvent } from '../../../domain/events/event.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { Connection } from './connection.ts';
import { attempt } from './drivers/driver.ts';
import { ERASURES_STREAM, type Erasure, toRecordedEvent } from './read.ts';

/** Namespace of the ids of notes: repeating a note gives the same id. */
const NOTES = '5b6a6e0e-6e4f-4c5c-9a53-0a8d5f1c7b42';

const ENDS_BEFORE = 'The stream does not go on behind the events to be erased.';

/**
 * Removes a stream's events before a revision, as `EventLog.erase` does: notes it for everyone, then truncates the stream. In
 * this order, so that repeating an interrupted removal completes it.
 */
export async function eraseEvents(
  connection: Connection,
  stream: string,
  before: number,
  erased: readonly ErasedEvent[],
): Promise<void> {
  const { appender, erasures, reader } = connection;
  const [behind] = await reader.readStream(stream, { from: before, limit: 1 }, toRecordedEvent);
  // A leader that has just begun may not show it yet.
  if (behind === undefined) throw unavailable('event log', new Error(ENDS_BEFORE));
  if (erased.length < before) throw new Error('An event to be erased is not among those named.');
  await erasures.refresh();
  if (erasures.before(stream) < before) {
    const positions = erased.map(({ position }) => position);
    const erasure = { stream, before, first: Math.min(...positions), last: Math.max(...positions) };
    await appender.append(ERASURES_STREAM, note(erasure), 'any');
    erasures.add(erasure);
  }
  await truncate(connection, stream, before);
}

function note(erasure: Erasure): NewEvent {
  const id = uuidv5(`${erasure.before} ${erasure.stream}`, NOTES);
  return { id, type: 'EventsErased', data: { ...erasure }, metadata: dataAs({}) };
}

/** Sets a stream's `truncateBefore`, leaving the rest of its metadata unchanged. It never decreases. */
async function truncate({ appending, reader }: Connection, stream: string, before: number): Promise<void> {
  // The driver's own metadata read returns a position as the revision.
  const metadataStream = `$$${stream}`;
  await attempt(appending, async (waiting) => {
    const options = { direction: 'backwards', limit: 1 } as const;
    const [present] = await reader.readStream(metadataStream, options, toRecordedEvent);
    if (present && Number(present.data.$tb) >= before) return;
    const metadata = { type: '$metadata', data: { ...present?.data, $tb: before } };
    const end = present ? BigInt(present.revision) : 'no_stream';
    await appending.call(waiting, (driver) => driver.append(metadataStream, metadata, end));
  });
}
