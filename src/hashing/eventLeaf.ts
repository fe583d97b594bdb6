import { canonicalJson } from '../events/canonicalJson.ts';
import type { RecordedEvent } from '../events/event.ts';
import { type Hash, leafHash } from './hashTree.ts';

/** What the leaf of an event covers: all but its position, which is the store's and not the event's. */
export type HashedEvent = Omit<RecordedEvent, 'position'>;

/**
 * The leaf of an event as a log gave it: where the log holds canonical texts it is made of these, and not of the event's
 * members written once more.
 */
export function storedLeaf(event: RecordedEvent): Hash {
  const { dataText, id, metadataText, recordedAt, revision, stream, type } = event;
  if (dataText === undefined || metadataText === undefined) return eventLeaf(event);
  const [begin, end] = [{ id }, { recordedAt, revision, stream, type }].map((part) =>
    JSON.stringify(part).slice(1, -1),
  );
  return leafHash(`{"data":${dataText},${begin},"metadata":${metadataText},${end}}`);
}

/** The leaf of an event: of the canonical JSON of what it covers, as it was recorded (not upcast). */
export function eventLeaf(event: HashedEvent): Hash {
  const { id, type, stream, revision, recordedAt, metadata, data } = event;
  // In the order of the canonical form, which spares sorting them.
  return leafHash(canonicalJson({ data, id, metadata, recordedAt, revision, stream, type }));
}
