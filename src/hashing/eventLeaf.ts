import type { RecordedEvent } from '../events/event.ts';
import { canonicalJson } from './canonicalJson.ts';
import { type Hash, leafHash } from './hashTree.ts';

/** What the leaf of an event covers: all but its position, which is the store's and not the event's. */
export type HashedEvent = Omit<RecordedEvent, 'position'>;

/** The leaf of an event: of the canonical JSON of what it covers, as it was recorded (not upcast). */
export function eventLeaf(event: HashedEvent): Hash {
  const { id, type, stream, revision, recordedAt, metadata, data } = event;
  // In the order of the canonical form, which spares sorting them.
  return leafHash(canonicalJson({ data, id, metadata, recordedAt, revision, stream, type }));
}
