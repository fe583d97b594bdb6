import { canonicalJson } from './events/canonicalJson.ts';
import type { RecordedEvent } from './events/event.ts';
import { type Hash, leafHash } from './hashTree.ts';

/** What the leaf of an event covers: everything but its position, which belongs to the store and not the event. */
export type HashedEvent = Omit<RecordedEvent, 'position'>;

/**
 * Returns the leaf of an event as a log returned it: if the log holds canonical texts, it is computed from these, without
 * serializing the event's members again.
 */
export function storedLeaf(event: RecordedEvent): Hash {
  const { dataText, id, metadataText, recordedAt, revision, stream, type } = event;
  if (dataText === undefined || metadataText === undefined) return eventLeaf(event);
  const [begin, end] = [{ id }, { recordedAt, revision, stream, type }].map((part) =>
    JSON.stringify(part).slice(1, -1),
  );
  return leafHash(`{"data":${dataText},${begin},"metadata":${metadataText},${end}}`);
}

/** Returns the leaf of an event: of the canonical JSON of what it covers, as recorded (not upcast). */
export function eventLeaf(event: HashedEvent): Hash {
  const { id, type, stream, revision, recordedAt, metadata, data } = event;
  // In canonical order, which saves sorting them.
  return leafHash(canonicalJson({ data, id, metadata, recordedAt, revision, stream, type }));
}
